"""Items: made, read, replaced and deleted, one at a time. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate_cosmos.rest import charges
from tidegate_cosmos.rest.asked import Asked
from tidegate_cosmos.rest.place import check_session
from tidegate_cosmos.rest.replies import Refused, Reply, of_item, of_range
from tidegate_cosmos.store.containers import Container
from tidegate_cosmos.store.items import Item
from tidegate_cosmos.store.keys import Value

SIZE_MAX = 2 * 1024 * 1024


def create(asked: Asked, container: Container, now: float) -> Reply:
    """Makes an item, or where it is asked for another version of one."""
    document = _document(asked)
    _check_key(asked, container, document)
    if asked.says("x-ms-documentdb-is-upsert"):
        before = container.written
        item = container.upsert(document, now, asked.header("if-match"))
        is_new = container.range_at(item.place[0]).log[-1].previous is None
        assert container.written > before
        return _written(asked, container, item, 201 if is_new else 200)
    return _written(asked, container, container.create(document, now), 201)


def read(asked: Asked, container: Container, item_id: str, now: float) -> Reply:
    container.advance(now)
    values = _needed_key(asked, container)
    held = container.range_at(container.key.effective(values))
    check_session(asked, held)
    item = container.find(values, item_id)
    headers = of_item(item, held)
    if asked.header("if-none-match") == item.etag:
        return Reply(304, b"", 1.0, headers)
    return Reply(200, item.body, charges.read(item.body), headers)


def replace(asked: Asked, container: Container, item_id: str, now: float) -> Reply:
    values = _needed_key(asked, container)
    document = _document(asked)
    item = container.replace(values, item_id, document, now, asked.header("if-match"))
    return _written(asked, container, item, 200)


def delete(asked: Asked, container: Container, item_id: str, now: float) -> Reply:
    values = _needed_key(asked, container)
    item = container.delete(values, item_id, now, asked.header("if-match"))
    held = container.range_at(item.place[0])
    return Reply(204, b"", charges.deleted(item.body), of_range(held))


def _written(asked: Asked, container: Container, item: Item, status: int) -> Reply:
    held = container.range_at(item.place[0])
    charge = (charges.created if status == 201 else charges.replaced)(item.body)
    is_minimal = asked.header("prefer") == "return=minimal"
    return Reply(status, b"" if is_minimal else item.body, charge, of_item(item, held))


def _document(asked: Asked) -> dict[str, Any]:
    if len(asked.request.body) > SIZE_MAX:
        raise Refused(413, f"The item is larger than {SIZE_MAX} bytes.")
    return asked.document()


def _needed_key(asked: Asked, container: Container) -> tuple[Value, ...]:
    values = asked.key_values()
    if values is None or len(values) not in (0, len(container.key.paths)):
        raise Refused(
            400,
            "x-ms-documentdb-partitionkey: expected the item's whole partition key, "
            f"{len(container.key.paths)} values.",
        )
    return values


def _check_key(asked: Asked, container: Container, document: Mapping[str, Any]) -> None:
    values = asked.key_values()
    if values is not None and values != container.key.values_of(document):
        raise Refused(
            400,
            "PartitionKey extracted from document doesn't match the one specified in the header.",
            substatus=1001,
        )
