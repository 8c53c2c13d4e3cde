"""The contract of the hub with its clients: every scenario, named once.

Rules: each scenario has one sentence that it promises. The Python clients (sync and aio) and the
JavaScript client all implement every one of them, under the same name, on a hub of their own; the
test of this list says which is missing. Data only: nothing here talks to a hub.
"""

from __future__ import annotations

from dataclasses import dataclass

CLIENTS = ("sync", "aio", "javascript")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A promise, and the hub it is shown on."""

    name: str
    promise: str
    partitions: int = 2
    groups: tuple[str, ...] = ()
    checks_sas: bool = False
    alone: bool = False  # measures time or fills the machine: not beside other scenarios


# Where the service puts these keys on a hub of 8 partitions. "hall" has a negative hash: the sign
# is dropped before the remainder. "Küche" is hashed as UTF-8. The buffered producer of the Python
# SDK gets both of these wrong by itself, which does not concern the hub.
KEY_HUB_PARTITIONS = 8
KEY_PARTITIONS = {
    "kitchen": "3",
    "hall": "3",
    "cellar": "0",
    "front-door": "5",
    "home-100000": "2",
    "a": "4",
    "Küche": "6",
}

SENDING = (
    Scenario(
        "send_one", "One event arrives with its body, a sequence number, an offset and a time."
    ),
    Scenario("send_many", "Events sent in one call arrive complete and in order."),
    Scenario(
        "batch_keeps_its_size_limit",
        "A batch takes events up to its limit, says no to the next, and all it took arrive.",
    ),
    Scenario(
        "link_tells_the_size_limit", "A batch with no limit of its own gets the hub's 1,048,576."
    ),
    Scenario(
        "too_large_is_refused",
        "An event above the limit is refused as too large, and the next small one arrives.",
    ),
    Scenario(
        "partition_key_picks_the_partition",
        "A key's events go to the one partition that the service picks, and carry the key.",
        partitions=KEY_HUB_PARTITIONS,
    ),
    Scenario(
        "partition_id_picks_the_partition", "An event sent to a partition arrives in that one."
    ),
    Scenario(
        "events_without_a_key_are_spread",
        "Events sent with neither key nor partition reach every partition.",
        partitions=4,
    ),
    Scenario("large_event", "An event of 900 KB, which spans frames, arrives byte for byte."),
    Scenario(
        "ten_thousand_in_order",
        "10,000 events over several partitions arrive complete and in order within each.",
        partitions=4,
        alone=True,
    ),
)

CONTENT = (
    Scenario("content_type_and_ids", "Content type, message id and correlation id arrive as sent."),
    Scenario(
        "application_properties", "Application properties arrive with their values and types."
    ),
    Scenario(
        "system_properties",
        "System properties hold what the hub stamped and the standard fields that were sent.",
    ),
    Scenario(
        "body_of_several_data_sections", "A body of several data sections keeps its sections."
    ),
    Scenario("body_of_null", "An event without a body arrives without one."),
    Scenario("body_of_one_value", "A body of one AMQP value arrives as that value."),
    Scenario("body_of_a_sequence", "A body of an AMQP sequence arrives as that sequence."),
)

POSITIONS = (
    Scenario("start_at_earliest", "A reader that starts at the earliest gets all that is kept."),
    Scenario("start_at_latest", "A reader that starts at the latest gets only what comes later."),
    Scenario("start_after_offset", "A reader that starts after an offset skips that event."),
    Scenario("start_at_offset", "A reader that starts at an offset, inclusive, gets that event."),
    Scenario(
        "start_after_sequence_number", "A reader that starts after a sequence number skips it."
    ),
    Scenario(
        "start_at_sequence_number",
        "A reader that starts at a sequence number, inclusive, gets that event.",
    ),
    Scenario("start_after_enqueued_time", "A reader that starts after a time skips what is older."),
    Scenario(
        "start_at_enqueued_time",
        "A reader that starts at a time, inclusive, gets what was appended in that millisecond.",
    ),
    Scenario(
        "offset_beyond_the_end_is_refused",
        "A reader that starts beyond the last offset is refused with an argument error.",
    ),
    Scenario(
        "sequence_number_beyond_the_end_is_refused",
        "A reader that starts beyond the last sequence number gets an argument error.",
    ),
)

FACTS = (
    Scenario(
        "runtime_metrics", "A reader that asks for it learns the partition's last event on the way."
    ),
    Scenario("hub_properties", "The hub tells its name, when it was made, and its partitions."),
    Scenario("partition_ids", "Partition ids are 0, 1, 2 … in order.", partitions=12),
    Scenario(
        "properties_of_an_empty_partition", "An empty partition says so: sequence -1, offset '-1'."
    ),
    Scenario(
        "properties_of_a_partition", "A partition tells its first and last event as a reader sees."
    ),
)

RECEIVING = (
    Scenario("groups_are_independent", "Each consumer group reads every event.", groups=("audit",)),
    Scenario(
        "idle_reader_hears_promptly",
        "An idle reader gets the next event within a second.",
        alone=True,
    ),
    Scenario("higher_owner_level_steals", "A reader of a higher owner level takes the partition."),
    Scenario("equal_owner_level_steals", "Of equal owner levels the later reader has it."),
    Scenario(
        "lower_owner_level_is_refused",
        "A reader of a lower owner level is refused, the other stays.",
    ),
    Scenario(
        "no_owner_level_is_refused_beside_one",
        "A reader without an owner level is refused while one with a level is there.",
    ),
    Scenario(
        "sixth_reader_is_over_the_quota",
        "Five readers of a partition and group may read at once, the sixth is refused.",
    ),
    Scenario("over_websockets", "Sending, reading and properties work over AMQP WebSockets."),
)

REFUSALS = (
    Scenario("unknown_hub_is_refused", "A hub that is not there is not found."),
    Scenario("unknown_group_is_refused", "A consumer group that is not there is not found."),
    Scenario("unknown_partition_is_refused", "A partition that is not there is out of range."),
    Scenario(
        "bad_key_is_refused",
        "With SAS checking on, a wrong key is refused and the right one is taken.",
        checks_sas=True,
    ),
)

PROCESSORS = (
    Scenario("checkpoint_and_resume", "A processor goes on after its checkpoint, with no gap."),
    Scenario(
        "processors_balance_and_one_dies",
        "Two processors share a hub; one is killed, the other takes all from the checkpoints.",
        partitions=4,
    ),
)

SCENARIOS = (*SENDING, *CONTENT, *POSITIONS, *FACTS, *RECEIVING, *REFUSALS, *PROCESSORS)
