"""The command line: what it prints, what it refuses, and how it ends."""

from __future__ import annotations

import importlib
import json
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from support.amqp_peer import Peer, SocketLine
from support.hub_messages import data
from support.hub_process import HubProcess, hub_process
from support.tree import ROOT
from tidegate_amqp import Accepted
from tidegate_hub import cli

Refuse = Callable[..., str]
# A busy machine takes its time; what is given up after a patience takes longer still.
QUICKLY_S = 15.0


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Refuse:
    """Runs the command line, which must end with code 2 and one line on standard error."""

    def run(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["tidegate-hub", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capfd.readouterr()
        assert (ended.value.code, out, err.count("\n")) == (2, "", 1), (out, err)
        assert err.startswith("tidegate-hub: ")
        return err.removeprefix("tidegate-hub: ").rstrip()

    return run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: serve"),
        (["serv"], "invalid choice: 'serv'"),
        (["serve", "--bogus"], "unrecognized arguments: --bogus"),
        (["serve", "extra"], "unrecognized arguments: extra"),
        (["serve", "--port"], "argument --port: expected one argument"),
        (["serve", "--port", "x"], "argument --port: expected a port from 0 to 65535, found 'x'"),
        (["serve", "--port", "65536"], "expected a port from 0 to 65535, found '65536'"),
        (["serve", "--port", "-1"], "expected a port from 0 to 65535, found '-1'"),
        (["serve", "--tls-port", "1.5"], "argument --tls-port: expected a port from 0 to 65535"),
        (["serve", "--admin-port", "x"], "argument --admin-port: expected a port from 0 to"),
        (["serve", "--memory-mb", "0"], "expected a whole number of megabytes from 1, found '0'"),
        (["serve", "--memory-mb", "1.5"], "expected a whole number of megabytes from 1"),
        (["serve", "--retention-mb", "-1"], "expected a whole number of megabytes from 1"),
        (["serve", "--retention-hours", "0"], "expected a number of hours above 0, found '0'"),
        (["serve", "--retention-hours", "nan"], "expected a number of hours above 0"),
        (["serve", "--retention-hours", "inf"], "expected a number of hours above 0"),
        (["serve", "--fsync", "often"], "argument --fsync: invalid choice: 'often'"),
        (["serve", "--hub", "a:b"], '--hub "a:b": partitions: expected a whole number from 1'),
        (["serve", "--hub", "a:0"], '--hub "a:0": partitions: expected a whole number from 1'),
        (["serve", "--hub", "a:1:g:h"], "expected name[:partitions[:group,group]]"),
        (["serve", "--hub", "_"], "expected a name of 1 to 256 letters"),
        (["serve", "--hub", "a:1:g,G"], "expected every group once"),
        (["serve", "--hub", "a", "--hub", "A"], 'hub "A" is declared twice in --hub'),
        (["serve", "--config", "nowhere.json"], "nowhere.json: No such file or directory"),
        (["serve", "--cert", "c.pem"], "--cert is given without --tls-port"),
        (["serve", "--tls-port", "0"], "--tls-port needs --cert FILE and --key FILE"),
        (["serve", "--tls-port", "0", "--key", "k"], "--tls-port needs --cert FILE and --key"),
        (
            ["serve", "--port", "0", "--tls-port", "0", "--cert", "no.pem", "--key", "no.pem"],
            "--cert no.pem: there is no such file",
        ),
        (["serve", "--port", "0", "--host", "no.such.host.invalid"], "cannot listen on no.such."),
    ],
)
def test_a_wrong_argument_is_said_in_one_line(
    refuse: Refuse, arguments: list[str], said: str
) -> None:
    assert said in refuse(*arguments)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (b"{", "Config.json: line 1, column 2: not valid JSON"),
        (b"[]", "Config.json: expected an object, found []"),
        (b"\xff\xfe", "Config.json: expected UTF-8 text"),
        (b"{}", "Config.json: UserConfig: is missing"),
        (
            b'{"UserConfig": {"NamespaceConfig": [{"Entities": [{"Name": "a"}]}]}}',
            "Config.json: UserConfig.NamespaceConfig[0].Entities[0].PartitionCount: is missing",
        ),
        (
            b'{"UserConfig": {"NamespaceConfig": [{"Entities": '
            b'[{"Name": "a", "PartitionCount": "0"}]}]}}',
            "PartitionCount: expected a whole number from 1 to 1024, found",
        ),
        (
            b'{"UserConfig": {"NamespaceConfig": [{"Entites": []}]}}',
            'UserConfig.NamespaceConfig[0]: unknown key "Entites"; did you mean "Entities"?',
        ),
    ],
)
def test_a_wrong_config_is_said_with_its_key(
    refuse: Refuse, tmp_path: Path, config: bytes, said: str
) -> None:
    path = tmp_path / "Config.json"
    path.write_bytes(config)
    assert said in refuse("serve", "--config", str(path))


def test_a_data_directory_that_is_a_file_is_refused(refuse: Refuse, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("not a directory")
    assert str(path) in refuse("serve", "--port", "0", "--data", str(path))


def test_a_port_that_is_taken_is_refused(refuse: Refuse) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refuse("serve", "--port", str(port))
    assert said.startswith(f"cannot listen on 127.0.0.1:{port}: ")
    assert said.endswith("address already in use. Choose another port, or 0 for any that is free.")


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"]])
def test_help_is_printed(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tidegate-hub", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    assert "An Azure Event Hubs for laptops and tests" in capfd.readouterr().out


def test_help_names_every_option_that_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.parser().parse_args(["serve", "--help"])
    printed = capsys.readouterr().out
    for option in (
        *("--hub", "--config", "--host", "--port", "--tls-port", "--cert", "--key"),
        *("--check-sas", "--key-name", "--key-value", "--data", "--fsync", "--memory-mb"),
        *("--retention-hours", "--retention-mb", "--admin-port", "--admin-host"),
    ):
        assert f"{option} " in printed or f"{option}\n" in printed


def test_the_console_script_is_this_command_line() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["tidegate-hub"].partition(":")
    assert getattr(importlib.import_module(module), function) is cli.main


@pytest.mark.slow
def test_the_default_hub_is_telemetry_with_16_partitions(tmp_path: Path) -> None:
    with hub_process(tmp_path) as hub:
        assert hub.port > 0
        assert hub.said.splitlines() == [
            "hub telemetry: 16 partitions, groups $Default",
            f"connection string: Endpoint=sb://localhost:{hub.port};"
            "SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;"
            "UseDevelopmentEmulator=true",
            "ready; Ctrl-C stops it",
        ]
        assert hub.complained == ""


@pytest.mark.slow
def test_hubs_come_from_the_command_line_and_from_a_config(tmp_path: Path) -> None:
    entity = {"Name": "orders", "PartitionCount": "3", "ConsumerGroups": [{"Name": "billing"}]}
    config = {"UserConfig": {"NamespaceConfig": [{"Type": "EventHub", "Entities": [entity]}]}}
    path = tmp_path / "Config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    arguments = ("--config", str(path), "--hub", "small:1:a,$Default", "--key-value", "sesame")
    with hub_process(tmp_path, *arguments) as hub:
        assert "hub orders: 3 partitions, groups $Default, billing\n" in hub.said
        assert "hub small: 1 partitions, groups $Default, a\n" in hub.said
        assert ";SharedAccessKey=sesame;" in hub.connection_string


@pytest.mark.slow
def test_an_empty_data_directory_gets_the_default_hub_too(tmp_path: Path) -> None:
    with hub_process(tmp_path, "--data", str(tmp_path / "data")) as hub:
        assert "hub telemetry: 16 partitions" in hub.said
        second = HubProcess(tmp_path / "second", *hub.arguments)
        assert second.process.wait(60) == 2
        assert f"{tmp_path / 'data'} is in use by another tidegate-hub" in second.complained
        assert second.complained.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_at_once_with_clients_connected(
    tmp_path: Path, by: signal.Signals
) -> None:
    hub = HubProcess(tmp_path, "--hub", "telemetry:1").until_ready()
    with Peer(SocketLine(hub.port)) as busy, Peer(SocketLine(hub.port)) as deaf:
        link = busy.attach_sender("telemetry")
        for _ in range(20):
            assert busy.publish(link, data(b"x" * 1_000_000)) == Accepted()
        deaf.attach_receiver("telemetry/ConsumerGroups/$Default/Partitions/0").grant(1_000)
        deaf.flush()
        idle = SocketLine(hub.port)
        started = time.monotonic()
        assert hub.stop(by) == 0
        assert time.monotonic() - started < QUICKLY_S
        assert busy.refusal(link).condition == "amqp:connection:forced"
        idle.cut()
    assert hub.complained == ""


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_the_moment_of_its_first_word_stops_it_cleanly(by: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tidegate_hub", "serve", "--port", "0"],
        cwd=ROOT / "consumer",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(by)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
