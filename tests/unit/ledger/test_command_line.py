"""`tidegate ledger`: what is written wrongly is said in one line, and no secret is an argument."""

from __future__ import annotations

import pytest

from tidegate.cli import main, parser
from tidegate.ledger.command import LEDGER_SECRET, blob_settings, group_names
from tidegate.settings import SettingsError

SECRET = (
    "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=a2V5;EndpointSuffix=core.windows.net"
)


def test_a_container_alone_wants_the_connection_string_of_the_environment() -> None:
    with pytest.raises(SettingsError, match=LEDGER_SECRET):
        blob_settings("ledger", None, None)
    assert blob_settings("ledger", None, SECRET).container == "ledger"


def test_a_url_names_account_and_container() -> None:
    settings = blob_settings("https://acc.blob.core.windows.net/ledger", "2017-11-09", None)
    assert settings.container == "ledger"
    assert settings.account_url == "https://acc.blob.core.windows.net"
    assert settings.api_version == "2017-11-09"


def test_a_url_of_an_emulator_has_the_account_in_its_path() -> None:
    settings = blob_settings("http://127.0.0.1:10000/devstoreaccount1/ledger?sig=x", None, None)
    assert settings.container == "ledger"
    assert settings.account_url == "http://127.0.0.1:10000/devstoreaccount1?sig=x"


@pytest.mark.parametrize("url", ["https://acc.blob.core.windows.net", "https://acc/x/y?sig=secret"])
def test_a_url_without_one_container_is_refused_and_its_sas_is_not_shown(url: str) -> None:
    with pytest.raises(SettingsError, match="one container") as refused:
        blob_settings(url, None, None)
    assert "secret" not in str(refused.value)


def test_a_group_has_three_parts() -> None:
    assert group_names("ns/hub/$Default").prefix == "ns/hub/$default/"
    with pytest.raises(SettingsError, match="host/hub/group"):
        group_names("hub/$Default")


def test_what_is_wrong_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(LEDGER_SECRET, raising=False)
    monkeypatch.setattr("sys.argv", ["tidegate", "ledger", "show", "--ledger", "x", "--group", "a"])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capfd.readouterr().err
    assert ended.value.code == 2
    assert said.startswith("tidegate: ")
    assert said.count("\n") == 1


def test_no_option_takes_a_secret() -> None:
    wanted = ["ledger", "check", "--ledger", "x", "--group", "a/b/c"]
    options = vars(parser().parse_args(wanted)).keys()
    assert options == {"command", "action", "ledger", "group", "json", "api_version"}
