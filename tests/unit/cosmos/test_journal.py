"""What is kept on disk gives the same account again: items, ranges, feeds, names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from tidegate_cosmos import journal
from tidegate_cosmos.journal import Journal, JournalError
from tidegate_cosmos.store.account import Account
from tidegate_cosmos.store.containers import Container
from tidegate_cosmos.store.records import FORMAT, RecordProblem, play


def reopened(folder: Path, reports: list[str] | None = None) -> tuple[Account, Journal]:
    account = Account(salt=99)
    said = [] if reports is None else reports
    return account, Journal.opened(folder, account, said.append)


def lived(folder: Path) -> Account:
    """An account to which everything was done that can be done, and its records on disk."""
    account, kept = reopened(folder)
    database = account.add_database({"id": "home"}, now=100)
    account.drop_database(account.add_database({"id": "gone"}, now=100).id)
    events = account.add_container(
        database, {"id": "events", "partitionKey": {"paths": ["/home"]}}, now=100, ranges=2
    )
    account.add_container(database, {"id": "dropped"}, now=100)
    account.drop_container(database, "dropped")
    for number in range(40):
        events.create({"id": str(number), "home": number}, now=101 + number)
    events.split("0")
    for number in range(0, 40, 3):
        events.upsert({"id": str(number), "home": number, "v": 2}, now=150)
    for number in range(0, 40, 7):
        events.delete((number,), str(number), now=151)
    events.merge("3", "1")
    events.describe({**events.described, "defaultTtl": 1_000})
    events.offer(4_000)
    events.create({"id": "late", "home": "x", "ttl": 30}, now=160)
    kept.keep()
    kept.close()
    return account


def facts(container: Container) -> dict[str, Any]:
    return {
        "rid": container.rid,
        "described": container.described,
        "throughput": container.throughput,
        "ranges_etag": container.ranges_etag,
        "ranges": [(each.id, each.span, each.parents, each.lsn) for each in container.ranges],
        "items": [list(each.items.values()) for each in container.ranges],
        "latest": [
            [(change.lsn, change.current) for change in each.latest(0, 1_000).changes]
            for each in container.ranges
        ],
    }


def test_a_restart_gives_the_same_account(tmp_path: Path) -> None:
    before = lived(tmp_path).database("home").container("events")
    account, kept = reopened(tmp_path)
    after = account.database("home").container("events")
    assert facts(after) == facts(before)
    assert [each.log for each in after.ranges] == [each.log for each in before.ranges]
    assert (list(account.databases), list(account.database("home").containers)) == (
        ["home"],
        ["events"],
    )
    after.advance(200)
    assert all(item.place[1] != "late" for item in after.items())
    kept.close()


def test_names_are_not_given_again_after_a_restart(tmp_path: Path) -> None:
    before = lived(tmp_path)
    account, kept = reopened(tmp_path)
    made = account.add_database({"id": "new"}, now=200)
    assert made.raw_rid not in {each.raw_rid for each in before.databases.values()}
    events = account.database("home").container("events")
    etags = {item.etag for item in events.items()}
    assert events.create({"id": "new", "home": 1}, now=200).etag not in etags
    kept.close()


def test_a_file_that_is_mostly_history_is_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lived(tmp_path).database("home").container("events")
    size = (tmp_path / "cosmos.jsonl").stat().st_size
    monkeypatch.setattr(journal, "_HISTORY_MAX", -1_000)
    reopened(tmp_path)[1].close()
    assert (tmp_path / "cosmos.jsonl").stat().st_size < size
    account, kept = reopened(tmp_path)
    assert facts(account.database("home").container("events")) == facts(before)
    kept.close()


@pytest.mark.parametrize("cut", [1, 10, 100])
def test_a_record_written_in_part_is_cut_off_and_said(tmp_path: Path, cut: int) -> None:
    lived(tmp_path)
    path = tmp_path / "cosmos.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    reports: list[str] = []
    account, kept = reopened(tmp_path, reports)
    assert "written in part" in reports[0]
    events = account.database("home").container("events")
    assert all(item.place[1] != "late" for item in events.items())
    events.create({"id": "again", "home": 1}, now=300)
    kept.keep()
    kept.close()
    account, kept = reopened(tmp_path)
    assert account.database("home").container("events").find((1,), "again")
    kept.close()


def refusal(folder: Path) -> str:
    """Why a file is refused at the start; it stays as it is."""
    path = folder / "cosmos.jsonl"
    before = path.read_bytes()
    with pytest.raises(JournalError) as raised:
        reopened(folder)
    assert path.read_bytes() == before, "nothing was changed"
    assert f"{path}: line" in str(raised.value)
    return str(raised.value)


def test_a_byte_that_was_changed_stops_the_start_and_names_its_place(tmp_path: Path) -> None:
    """Whichever it is: also one that still makes a valid record, or a line end."""
    lived(tmp_path)
    path = tmp_path / "cosmos.jsonl"
    whole = path.read_bytes()
    ends = [at for at, byte in enumerate(whole[:-1]) if byte == ord("\n")]
    places = {0, 8, 9, len(whole) - 2, *range(0, len(whole) - 1, 211), *ends[::5]}
    for place in sorted(places):
        spoilt = bytearray(whole)
        spoilt[place] ^= 1
        path.write_bytes(spoilt)
        begins = max((end + 1 for end in ends if end < place), default=0)
        said = refusal(tmp_path)
        assert f"begins at byte {begins}," in said
        assert f"truncate -s {begins} {path}" in said
    path.write_bytes(whole)
    reopened(tmp_path)[1].close()


def test_the_command_that_cuts_a_file_off_is_whole_in_a_folder_with_a_blank(tmp_path: Path) -> None:
    folder = tmp_path / "the data"
    lived(folder)
    path = folder / "cosmos.jsonl"
    whole = path.read_bytes()
    begins = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    path.write_bytes(whole[:begins] + b"0" * (len(whole) - begins - 1) + b"\n")
    command = refusal(folder).partition(": truncate ")[2]
    subprocess.run(f"truncate {command}", shell=True, check=True)
    assert path.read_bytes() == whole[:begins]
    reopened(folder)[1].close()


@pytest.mark.parametrize("wrong", ["missing", "doubled", "swapped"])
def test_a_line_that_is_missing_doubled_or_moved_stops_the_start_and_names_its_place(
    tmp_path: Path, wrong: str
) -> None:
    lived(tmp_path)
    path = tmp_path / "cosmos.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for index in range(len(lines) - 1):
        spoilt = [*lines]
        if wrong == "missing":
            del spoilt[index]
        elif wrong == "doubled":
            spoilt.insert(index, lines[index])
        else:
            spoilt[index : index + 2] = reversed(lines[index : index + 2])
        path.write_bytes(b"".join(spoilt))
        number = index + (2 if wrong == "doubled" else 1)
        assert f"line {number}, which begins at byte" in refusal(tmp_path)


def test_a_record_that_cannot_be_played_stops_the_start_and_says_why(tmp_path: Path) -> None:
    """Such as one of a version that is not this one."""
    text = b'{"kind":"change","container":"nothing"}'
    (tmp_path / "cosmos.jsonl").write_bytes(b"%08x %s\n" % (crc32(text), text))
    assert "there is no container 'nothing'" in refusal(tmp_path)
    (tmp_path / "cosmos.jsonl").write_bytes(b'{"kind":"account","format":1,"salt":7}\n')
    assert "its checksum is another one" in refusal(tmp_path)


def test_what_stands_before_a_wrong_line_is_read_once_the_rest_is_cut_off(tmp_path: Path) -> None:
    """As the error says how."""
    lived(tmp_path)
    path = tmp_path / "cosmos.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:30], *lines[31:]]))
    command = refusal(tmp_path).rpartition(": ")[2]
    subprocess.run(command.split(), check=True)
    account, kept = reopened(tmp_path)
    assert account.database("home").container("events")
    account.add_database({"id": "new"}, now=300)
    kept.keep()
    kept.close()
    account, kept = reopened(tmp_path)
    assert "new" in account.databases
    kept.close()


def test_two_servers_cannot_have_one_folder(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from tidegate_cosmos.journal import Journal\n"
        "from tidegate_cosmos.store.account import Account\n"
        "kept = Journal.opened(Path(sys.argv[1]), Account(1), print)\n"
        "print('open', flush=True); sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(JournalError, match="another server"):
            reopened(tmp_path)
        other.communicate()
    reopened(tmp_path)[1].close()


def test_a_record_with_a_number_beyond_all_numbers_is_told_by_its_line() -> None:
    with pytest.raises(RecordProblem, match="OverflowError"):
        play(Account(salt=1), {"kind": "account", "format": FORMAT, "salt": float("inf")})
