"""A partition key goes where the service and its clients put it."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from typing import Any

import pytest
from azure.eventhub._buffered_producer._partition_resolver import (
    PartitionResolver,
    generate_hash_code,
)

from tidegate_hub.placement import (
    KEY_LENGTH_MAX,
    KeyPlacement,
    hash_code,
    partition_for_key,
    round_robin,
)

# As @azure/event-hubs 6.0.4 computes them: key, hash, and the partition of 32 and of 7.
FROM_THE_JAVASCRIPT_CLIENT = [
    ("", 0, 0, 0),
    ("a", -16220, 28, 1),
    ("alphabet", -23478, 22, 0),
    ("TestPartitionKey", 29568, 0, 0),
    ("home-000001", -4160, 0, 2),
    ("häuser", -12461, 13, 1),
    ("鍵", -6216, 8, 0),
    ("x" * 40, -29224, 8, 6),
]


# The client's own functions have no types.
their_hash_code: Callable[[str], int] = generate_hash_code
their_resolver: Callable[[list[str]], Any] = PartitionResolver


def some_keys(count: int) -> list[str]:
    dice = random.Random(20260105)
    return ["".join(dice.choices(string.printable, k=dice.randrange(1, 64))) for _ in range(count)]


@pytest.mark.parametrize(("key", "code", "of_32", "of_7"), FROM_THE_JAVASCRIPT_CLIENT)
def test_a_key_is_placed_as_the_javascript_client_places_it(
    key: str, code: int, of_32: int, of_7: int
) -> None:
    assert hash_code(key) == code
    assert partition_for_key(key, 32) == of_32
    assert partition_for_key(key, 7) == of_7


def test_5000_keys_hash_as_in_the_python_client() -> None:
    for key in [*some_keys(4936), *("k" * length for length in range(64))]:
        assert hash_code(key) == their_hash_code(key), repr(key)


@pytest.mark.parametrize("count", [1, 4, 16, 31, 1024])
def test_the_python_client_agrees_on_hashes_above_zero_and_mirrors_those_below(count: int) -> None:
    resolver = their_resolver([str(number) for number in range(count)])
    below = 0
    for key in some_keys(3000):
        theirs = int(resolver.get_partition_id_by_partition_key(key))
        ours = partition_for_key(key, count)
        if hash_code(key) >= 0:
            assert ours == theirs
        else:
            below += 1
            assert ours == -theirs % count
    assert below > 1000


def test_a_remembered_key_is_placed_as_one_that_is_not() -> None:
    placement = KeyPlacement(100)
    for key in some_keys(500) * 2:
        for count in (1, 16, 31):
            assert placement.partition_for(key, count) == partition_for_key(key, count)


def test_the_memory_for_keys_is_bounded() -> None:
    placement = KeyPlacement(100)
    for number in range(10_000):
        placement.partition_for(f"home-{number}", 16)
        assert len(placement) <= 100


def test_keys_that_come_round_again_stay_remembered() -> None:
    placement = KeyPlacement(200)
    for number in range(100):
        placement.partition_for(f"home-{number}", 16)
    for _ in range(10):
        for number in range(100):
            placement.partition_for(f"home-{number}", 16)
    assert len(placement) == 100


def test_a_key_that_clients_would_refuse_is_placed_but_not_remembered() -> None:
    placement = KeyPlacement()
    long_key = "k" * (KEY_LENGTH_MAX + 1)
    assert placement.partition_for(long_key, 16) == partition_for_key(long_key, 16)
    assert len(placement) == 0


def test_sends_without_a_key_take_turns() -> None:
    assert [round_robin(counter, 3) for counter in range(7)] == [0, 1, 2, 0, 1, 2, 0]
