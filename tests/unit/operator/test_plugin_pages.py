"""What the plugin shows of a group, and what it writes: pure."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.ops.live import Style, text_width
from tidegate_operator.plugin import changes
from tidegate_operator.plugin.reports import as_document, known_partitions, report_of
from tidegate_operator.plugin.tables import page, screen
from unit.operator.plugin_groups import condition, group, member, state


def texts(document: dict[str, Any]) -> list[str]:
    return [line.text for line in page(report_of(document))]


def rows_of(document: dict[str, Any]) -> list[list[str]]:
    """The table without its head: the words of each row."""
    lines = texts(document)
    head = next(at for at, line in enumerate(lines) if line.startswith("PARTITION"))
    return [line.split() for line in lines[head + 1 :]]


def test_a_group_that_is_well_is_a_line_and_a_row_for_each_partition() -> None:
    lines = texts(group())
    assert lines[0] == (
        "homes/home-activity · Balanced · 2/2 ready · 4 of 4 partitions owned · lag 1,203 · "
        "behind 2s"
    )
    assert lines[1] == ""
    assert lines[2].split() == ["PARTITION", "OWNER", "EPOCH", "POSITION", "LAG", "BEHIND"]
    assert lines[3].split() == ["0", "home-a", "3", "1,999", "0", "0", "s"]
    assert len(lines) == 7


def test_partitions_are_in_the_order_of_their_numbers() -> None:
    document = group()
    document["status"]["partitionStates"] = [state(each, "home-a") for each in ("10", "9", "2")]
    assert [row[0] for row in rows_of(document)] == ["2", "9", "10"]


def test_what_is_not_known_is_never_a_zero() -> None:
    document = group()
    document["status"]["partitionStates"] = [{"partition": "0", "lagKind": "unknown"}]
    del document["status"]["lag"]
    assert "lag unknown" in texts(document)[0]
    assert rows_of(document) == [["0", "nobody", "-", "-", "unknown", "-"]]
    told = as_document(report_of(document))
    assert told["lag"] is None
    assert told["partitionStates"][0]["lag"] is None


def test_a_lag_that_is_counted_from_the_start_or_of_some_partitions_says_so() -> None:
    document = group()
    document["status"] |= {"lagKind": "estimated", "lagPartitions": 3}
    assert "lag ~1,203 in 3 of 4 partitions" in texts(document)[0]


@pytest.mark.parametrize(
    ("spec", "kind", "note"),
    [
        ({"pausedPartitions": ["0"]}, "exact", "paused"),
        ({"paused": True}, "exact", "paused"),
        ({"pins": {"0": "home-a"}}, "exact", "pinned"),
        ({"pins": {"0": "home-z"}}, "exact", "pinned to home-z"),
        ({}, "lost", "retention took events"),
        ({}, "exact", ""),
    ],
)
def test_what_is_special_about_a_partition_stands_at_its_end(
    spec: dict[str, Any], kind: str, note: str
) -> None:
    document = group(spec=spec)
    document["status"]["partitionStates"] = [state("0", "home-a", lagKind=kind)]
    (row,) = report_of(document).partitions
    assert ", ".join(row.notes) == note
    assert texts(document)[-1].endswith(note)


def test_a_partition_whose_owner_is_leaving_says_so() -> None:
    document = group()
    document["status"]["members"][0]["leaving"] = True
    assert [row.notes for row in report_of(document).partitions][:2] == [
        ("its owner is leaving",),
        (),
    ]


def test_conditions_that_matter_stand_above_the_table_and_the_others_do_not() -> None:
    document = group()
    document["status"]["conditions"] = [
        condition("Ready", "False", "ImageCannotBePulled", "No such image. Correct spec.image."),
        condition("Balanced", "True", "Balanced", "All is well."),
        condition("Scaling", "True", "ScalingOut", "From 1 pod to 2."),
        condition("Stuck", "False", "NotStuck", "None hangs."),
    ]
    lines = page(report_of(document))
    assert [(line.text, line.style) for line in lines[1:3]] == [
        ("Ready False, ImageCannotBePulled: No such image. Correct spec.image.", Style.BAD),
        ("Scaling True, ScalingOut: From 1 pod to 2.", Style.WARNING),
    ]
    assert lines[3].text == ""


def test_a_group_that_no_operator_has_seen_says_so() -> None:
    lines = texts(group(status={}))
    assert lines[0].endswith("the operator has not looked at it yet: is one running?")


def test_a_change_that_the_operator_has_not_seen_is_said() -> None:
    document = group()
    document["metadata"]["generation"] = 3
    assert texts(document)[0].endswith("the operator has not seen its newest change yet")


def test_a_group_of_too_many_partitions_says_where_they_are() -> None:
    document = group()
    del document["status"]["partitionStates"]
    assert "--from-ledger" in texts(document)[-1]
    assert list(known_partitions(document)) == ["0", "1", "2", "3"]


# --- on a screen


def test_where_rows_are_short_the_worst_are_shown_and_the_rest_is_counted() -> None:
    document = group()
    document["status"]["partitionStates"] = [
        state(str(at), "home-a", behindSeconds=float(at)) for at in range(30)
    ] + [state("30", None), state("31", "home-b", lagKind="lost")]
    lines = screen(report_of(document), columns=100, rows=9)
    assert len(lines) <= 9
    shown = [line.text.split()[0] for line in lines[3:-1]]
    assert shown == ["27", "28", "29", "30", "31"]
    assert lines[-1].text == "and 27 more, none of them worse"


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_no_line_is_wider_than_the_screen_or_steers_it(columns: int) -> None:
    document = group()
    document["status"]["partitionStates"] = [state("0", "evil\x1b[2J-家" * 9)]
    document["status"]["conditions"] = [condition("Ready", "False", "X", "line\nline" * 40)]
    for line in screen(report_of(document), columns=columns, rows=24, trouble="gone " * 30):
        assert text_width(line.text) <= columns
        assert line.text.isprintable()


def test_a_long_condition_takes_more_lines_and_ends_with_a_whole_sentence() -> None:
    document = group()
    why, remedy = "The Secret 'storage' of namespace 'homes' is not there.", "Create it."
    message = f"{why} {remedy} {'And so on with many words. ' * 20}"
    document["status"]["conditions"] = [condition("Ready", "False", "SecretMissing", message)]
    lines = screen(report_of(document), columns=60, rows=24)
    at = next(at for at, line in enumerate(lines) if line.text.startswith("Ready"))
    shown = [line for line in lines[at:] if line.style is Style.BAD]
    assert 2 <= len(shown) <= 4
    text = " ".join(line.text for line in shown)
    assert f"{why} {remedy}" in text
    assert text.endswith("words. …")


def test_what_is_old_says_how_old() -> None:
    lines = screen(report_of(group()), columns=80, rows=24, trouble="no answer", age_s=61.0)
    assert lines[0].text == "no answer (as it was 61 s ago)"
    assert lines[0].style is Style.BAD


# --- what is written


def test_pausing_a_group_writes_that_alone() -> None:
    change = changes.pause(group(), ())
    assert change.patch == {"spec": {"paused": True}}
    assert not change.is_fenced
    assert changes.pause(group(spec={"paused": True}), ()).patch == {}


def test_pausing_a_partition_keeps_those_that_are_paused_and_is_fenced() -> None:
    change = changes.pause(group(spec={"pausedPartitions": ["10", "2"]}), ["3"])
    assert change.patch == {"spec": {"pausedPartitions": ["2", "3", "10"]}}
    assert change.is_fenced
    assert changes.pause(group(spec={"pausedPartitions": ["2"]}), ["2"]).patch == {}


def test_resuming_the_last_partition_takes_the_list_away() -> None:
    change = changes.resume(group(spec={"pausedPartitions": ["2"]}), ["2"])
    assert change.patch == {"spec": {"pausedPartitions": None}}


def test_resuming_says_what_is_still_paused() -> None:
    spec = {"paused": True, "pausedPartitions": ["2", "3"]}
    whole = changes.resume(group(spec=spec), ())
    assert whole.patch == {"spec": {"paused": False}}
    assert whole.said == "resumed; partitions 2-3 are still paused"
    one = changes.resume(group(spec=spec), ["3"])
    assert one.said == "partition 3 is resumed; the whole group is still paused"
    assert changes.resume(group(), ()).patch == {}


def test_a_pin_touches_no_other() -> None:
    document = group(spec={"pins": {"1": "home-b"}})
    assert changes.pin(document, "0", "home-a").patch == {"spec": {"pins": {"0": "home-a"}}}
    assert changes.unpin(document, "1").patch == {"spec": {"pins": {"1": None}}}
    assert changes.pin(document, "1", "home-b").patch == {}
    assert changes.unpin(document, "0").patch == {}


def test_members_are_told_to_programs_too() -> None:
    document = group()
    document["status"]["members"] = [member("home-a", leaving=True)]
    assert as_document(report_of(document))["members"] == [
        {"name": "home-a", "ready": True, "partitions": 2, "weight": 1.0, "leaving": True}
    ]
