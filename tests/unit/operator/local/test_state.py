"""The state folder, and what is saved while it is in use: one owner, kept ports, plain words."""

from __future__ import annotations

import os
import re
import socket
import stat
from pathlib import Path

import pytest

from tidegate.settings import SettingsError
from tidegate_operator.kube_errors import Invalid
from tidegate_operator.local.azurite import VARIABLE, Azurite, fetched, find_azurite
from tidegate_operator.local.embedded import Embedded, EmbeddedError, Plan, port_of
from tidegate_operator.local.given import Given
from tidegate_operator.local.places import Wanted
from tidegate_operator.local.refreshing import Refreshing
from tidegate_operator.local.state import NotRunningError, Served, State, default_folder


def test_the_folder_is_that_of_the_user_or_the_one_that_the_desktop_names() -> None:
    assert default_folder({"HOME": "/me"}) == Path("/me/.local/state/tidegate")
    assert default_folder({"XDG_STATE_HOME": "/x", "HOME": "/me"}) == Path("/x/tidegate")


def test_there_is_one_owner_at_a_time_and_others_learn_where_it_is_asked(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    with pytest.raises(NotRunningError, match="no `tidegate up` runs with the state folder"):
        state.served()
    with state.taken():
        state.serve(Served("http://here", "the-token"))
        other = State(tmp_path / "state").taken()
        with pytest.raises(SettingsError, match="another `tidegate up` uses it"), other:
            pytest.fail("two had it")
        assert State(tmp_path / "state").served() == Served("http://here", "the-token")
        mode = (tmp_path / "state" / "served.json").stat().st_mode
        assert stat.S_IMODE(mode) == 0o600, "the token is its owner's alone"
    with pytest.raises(NotRunningError):
        state.served()
    with state.taken():
        pass


def test_what_ran_before_is_cleared_and_what_it_keeps_stays(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    with state.taken():
        (state.pods / "old").mkdir()
        state.hub.mkdir()
        state.keep_port("hub", 1234)
    with state.taken():
        assert list(state.pods.iterdir()) == []
        assert state.hub.is_dir()
        assert state.ports() == {"hub": 1234}


def test_a_disk_that_is_full_is_said_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = type("Usage", (), {"free": 5 << 20})
    monkeypatch.setattr("shutil.disk_usage", lambda _: full)
    words = r"5 MB are free on its disk.*Make room"
    with pytest.raises(SettingsError, match=words), State(tmp_path).taken():
        pytest.fail("there was no room")


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    words, state = r"--state .*/file/state: it cannot be written", State(tmp_path / "file/state")
    with pytest.raises(SettingsError, match=words), state.taken():
        pytest.fail("it was written")


def test_the_hub_has_the_same_port_again_or_says_who_is_in_its_way(tmp_path: Path) -> None:
    state = State(tmp_path)
    port = port_of(state, "hub")
    assert port_of(state, "hub") == port
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        with pytest.raises(EmbeddedError, match=f"port {port} of the embedded hub is taken"):
            port_of(state, "hub")


def test_azurite_is_found_or_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingsError, match=f"{VARIABLE}: there is no file /none"):
        find_azurite({VARIABLE: "/none", "PATH": ""})
    # An installed package has no tools of a checkout beside it.
    monkeypatch.setattr(
        "tidegate_operator.local.azurite.__file__", str(tmp_path / "a" / "b" / "c" / "d.py")
    )
    with pytest.raises(SettingsError, match=r"no npm to fetch it\. Install Node 20"):
        find_azurite({"PATH": str(tmp_path)})
    npx = program(tmp_path / "npx")
    with pytest.raises(SettingsError, match="Node is not there to run Azurite"):
        find_azurite({"PATH": str(tmp_path)})
    program(tmp_path / "node")
    found = find_azurite({"PATH": str(tmp_path)})
    assert (found.command, found.fetch[0]) == ((), str(npx))
    installed = program(tmp_path / "azurite-blob")
    assert find_azurite({"PATH": str(tmp_path)}) == Azurite((str(installed),))


def program(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o755)
    return path


async def test_an_azurite_that_npx_has_fetched_is_told_to_end_itself_and_npx_is_gone_by_then(
    tmp_path: Path,
) -> None:
    saved, script = tmp_path / "saved", tmp_path / "azurite.js"
    script.write_text(
        f"trap 'echo all > {saved}; exit 0' TERM\n"
        "echo successfully listens on\nread line < $0.none\n"
    )
    os.mkfifo(f"{script}.none")
    npx = program(tmp_path / "npx", "echo npm warn something >&2", f"echo {script}")
    program(tmp_path / "node", 'exec /bin/sh "$@"')
    environment = {"PATH": str(tmp_path)}
    fetch = Azurite(fetch=(str(npx),))
    command = await fetched(fetch, environment, tmp_path / "fetch.log")
    assert command == (str(tmp_path / "node"), str(script))
    running = Embedded()
    plan = Plan("storage", command, 1, re.compile("successfully listens on"))
    await running.start(plan, tmp_path, environment)
    await running.stop()
    assert saved.read_text() == "all\n"


async def test_what_npx_says_when_it_fetches_nothing_is_told(tmp_path: Path) -> None:
    program(tmp_path / "node")
    npx = program(tmp_path / "npx", "echo npm error network >&2", "exit 1")
    with pytest.raises(SettingsError, match=r"code 1\): npm error network"):
        await fetched(Azurite(fetch=(str(npx),)), {"PATH": str(tmp_path)}, tmp_path / "log")


class Saved:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.path.write_text("1")
        self.taken: list[str] = []
        self.said: list[str] = []
        self.fails: Exception | None = None
        self.hubs: dict[str, set[str]] = {"telemetry": set()}
        self.refreshing = Refreshing(self.given(), self.given, self.take, self.said.append)

    def given(self) -> Given:
        text = self.path.read_text()
        if text == "wrong":
            raise SettingsError("line 5 is wrong")
        return Given(files=[self.path], wanted=Wanted(hubs=dict(self.hubs)))

    def take(self, _: Given) -> None:
        if self.fails is not None:
            raise self.fails
        self.taken.append(self.path.read_text())

    def save(self, text: str) -> None:
        self.path.write_text(text)
        self.refreshing.look()


def test_what_is_saved_is_taken_once(tmp_path: Path) -> None:
    saved = Saved(tmp_path / "group.yaml")
    saved.refreshing.look()
    assert not saved.taken
    saved.save("second")
    saved.refreshing.look()
    assert (saved.taken, saved.said) == (["second"], ["what was saved is taken"])


def test_what_is_wrong_is_said_once_and_what_stood_goes_on(tmp_path: Path) -> None:
    saved = Saved(tmp_path / "group.yaml")
    saved.save("wrong")
    saved.refreshing.look()
    saved.fails = Invalid("the hub cannot be changed")
    saved.save("refused")
    saved.fails = None
    saved.hubs = {"telemetry": set(), "other": set()}
    saved.save("another hub")
    assert saved.taken == []
    assert saved.said == [
        "what was saved is not taken: line 5 is wrong",
        "what was saved is not taken: the hub cannot be changed",
        "what was saved is not taken: there is no embedded other yet: start `tidegate up` again "
        "for it",
    ]
    saved.hubs = {"telemetry": set()}
    saved.save("mended, at last")
    assert saved.taken == ["mended, at last"]
