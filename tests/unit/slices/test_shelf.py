"""What stands is told once, late slices are found, and a look lists little."""

from __future__ import annotations

from tidegate.slices.naming import Version, start_of, start_text
from tidegate.slices.shelf import Place, Shelf

NOW = float(start_of("20260131T235930Z"))
MINUTE = start_of("20260131T235900Z")
LATE = start_of("20260131T201500Z")


def heard(shelf: Shelf, now: float, *versions: Version) -> set[Place]:
    """One look: all that is due is listed."""
    changed: set[Place] = set()
    for beginning in shelf.due(now):
        listed = {each: 1 for each in versions if start_text(each.start).startswith(beginning)}
        changed |= shelf.hear(beginning, listed, now)
    return changed


def test_of_a_slice_the_newest_version_is_told_and_only_once() -> None:
    shelf, older, newer = Shelf(), Version("3", MINUTE, 5), Version("3", MINUTE, 9)
    assert heard(shelf, NOW, older, newer) == {Place(MINUTE, "3")}
    assert heard(shelf, NOW + 1, older, newer) == set()
    stood = shelf.at(Place(MINUTE, "3"))
    assert stood is not None
    assert stood.version == newer


def test_the_first_look_lists_the_day_and_the_next_ones_ten_minutes() -> None:
    shelf = Shelf()
    assert len(shelf.due(NOW)) == 1 + 25
    heard(shelf, NOW)
    assert shelf.due(NOW + 1) == ["20260131T235"]
    assert shelf.due(NOW + 31)[:2] == ["20260201T000", "20260131T235"]


def test_what_is_written_late_is_found_and_then_looked_at_each_time() -> None:
    shelf, fresh = Shelf(), Version("3", MINUTE, 5)
    heard(shelf, NOW, fresh)
    late = Version("3", LATE, 4)
    assert heard(shelf, NOW + 10, fresh, late) == set()
    assert heard(shelf, NOW + 301, fresh, late) == {Place(LATE, "3")}
    assert "20260131T201" in shelf.due(NOW + 302)
    assert "20260131T201" not in shelf.due(NOW + 400)


def test_where_all_that_comes_is_old_that_is_where_is_looked() -> None:
    shelf = Shelf()
    heard(shelf, NOW, Version("3", LATE, 4))
    assert "20260131T201" in shelf.due(NOW + 1)
    assert heard(shelf, NOW + 1, Version("3", LATE, 5)) == {Place(LATE, "3")}


def test_what_could_not_be_read_is_told_again() -> None:
    shelf, version = Shelf(), Version("3", MINUTE, 5)
    heard(shelf, NOW, version)
    shelf.forget(Place(MINUTE, "3"), Version("3", MINUTE, 4))
    assert heard(shelf, NOW + 1, version) == set()
    shelf.forget(Place(MINUTE, "3"), version)
    assert list(shelf.between("3", 0, MINUTE + 1)) == []
    assert heard(shelf, NOW + 2, version) == {Place(MINUTE, "3")}


def test_what_is_older_than_a_day_is_forgotten() -> None:
    shelf = Shelf()
    heard(shelf, NOW, Version("3", MINUTE, 5), Version("3", LATE, 4))
    shelf.tidy(NOW + 22 * 3_600)
    assert shelf.at(Place(LATE, "3")) is None
    assert shelf.at(Place(MINUTE, "3")) is not None
