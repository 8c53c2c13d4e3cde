"""A group file as typed settings, or an error that says where, what and what to write. Pure.

Rules: a key that is not known is refused by name, with the one that was probably meant; what is
the operator's is passed over whole by a consumer. What an API server holds has been checked by the
kind that it has: a key that is not known there is a newer version's, and is passed over and named.
All is read before anything is tried.
"""

from __future__ import annotations

import difflib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from math import isfinite
from types import MappingProxyType
from typing import Any, TypeVar

from tidegate.group_file.durations import Duration, seconds_of
from tidegate.group_file.fields import hints_of, inner_of, is_list, is_map, is_required
from tidegate.group_file.names import camel_name
from tidegate.group_file.nodes import FileError, Value, documents, plain_of, value_of
from tidegate.group_file.spark_spec import SparkSpec
from tidegate.group_file.spec import OPERATORS, FileSpec, GroupFile, GroupSpec, HandlerSpec
from tidegate.model import NO_OFFSET, Position
from tidegate.settings import SettingsError, check_name, is_plain
from tidegate.sources.start import Start, moment_of

API_VERSION = "tidegate.dev/v1alpha1"
KIND = "ConsumerGroup"
_TOP = ("apiVersion", "kind", "metadata", "spec", "status")

Section = TypeVar("Section", bound=GroupSpec)


@dataclass(frozen=True, slots=True)
class _WithoutCode(FileSpec):
    """The part of `spec` that is read where no code of the group's runs."""

    handler: HandlerSpec = field(default=HandlerSpec(""), metadata={"help": "Not run."})


def read_group(text: str, name: str, *, runs_code: bool = True) -> GroupFile:
    """The group of a file; `name` is the file's. Raises FileError.

    Where nothing of the group's code is to run, it may be left out.
    """
    there = list(documents(text, name))
    found = [value for value in there if is_group(value)]
    if len(found) != 1:
        others = ", ".join(_said_of(value) for value in there[:3]) if not found else ""
        raise FileError(
            f"{name}: it has {len(found)} documents with apiVersion {API_VERSION} and kind {KIND}; "
            f"it is to have one{f'. It has {others}' if others else ''}"
        )
    return _Reading(name, OPERATORS, None).group(found[0], FileSpec if runs_code else _WithoutCode)


def read_spec(kind: type[Section], document: Mapping[str, Any]) -> tuple[Section, tuple[str, ...]]:
    """The `spec` of a document of an API server, as settings of this kind, and the keys that were
    passed over.

    Raises FileError; what it says has no file and no lines.
    """
    passed_over: list[str] = []
    return _Reading("", {}, passed_over).spec(kind, value_of(document)), tuple(passed_over)


def check_group(kind: type[Section], value: Value, name: str) -> Section:
    """The `spec` of a document of a file, as settings of this kind; `name` is the file's.

    Raises FileError, which names the line.
    """
    return _Reading(name, {}, None).spec(kind, value)


def is_group(value: Value) -> bool:
    """Whether a document says that it is a ConsumerGroup."""
    version, kind = value.get("apiVersion"), value.get("kind")
    return (
        version is not None
        and version.text == API_VERSION
        and kind is not None
        and kind.text == KIND
    )


def _said_of(value: Value) -> str:
    """What a document says that it is."""
    version, kind = (value.get(key) for key in ("apiVersion", "kind"))
    return (
        f"apiVersion {_shown(version) if version else 'none'} "
        f"with kind {_shown(kind) if kind else 'none'}"
    )


class _Reading:
    """Reads one document; knows its file for what it says, the keys that are not for us, and
    where those go that are a newer version's, which are refused where there is no such place."""

    def __init__(
        self, name: str, not_ours: Mapping[str, tuple[str, ...]], newer: list[str] | None
    ) -> None:
        self._name = name
        self._not_ours = not_ours
        self._newer = newer

    def group(self, value: Value, kind: type[FileSpec]) -> GroupFile:
        self._check_keys(value, "the document", _TOP)
        metadata = value.get("metadata")
        name = metadata.get("name") if metadata is not None else None
        if name is None or not name.text:
            raise self._error(metadata or value, "metadata.name is missing: name the group")
        try:
            check_name("metadata.name", name.text)
        except SettingsError as error:
            raise self._error(name, str(error)) from None
        spec = self.spec(kind, value)
        return GroupFile(name.text, spec, spec.engine, spec.spark or SparkSpec())

    def spec(self, kind: type[Section], document: Value) -> Section:
        spec = document.get("spec")
        if spec is None:
            raise self._error(document, "spec is missing")
        return typing.cast(Section, self._section(kind, spec, "spec"))

    def _error(self, value: Value, text: str) -> FileError:
        return FileError(f"{self._name}:{value.line}: {text}" if value.line else text)

    def _check_keys(self, value: Value, path: str, known: Sequence[str]) -> None:
        if value.kind != "map":
            raise self._error(value, f"{path} has keys of its own; there is {_shown(value)}")
        for key, inner in value.fields:
            if key not in known and self._newer is not None:
                self._newer.append(f"{path}.{key}")
            elif key not in known:
                close = difflib.get_close_matches(key, known, 1, 0.5)
                meant = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(known)}"
                raise self._error(inner, f"{path} has no '{key}': {meant}")

    def _section(self, section: type[Any], value: Value, path: str) -> Any:
        by_name = {camel_name(each.name): each for each in fields(section)}
        self._check_keys(value, path, (*by_name, *self._not_ours.get(path, ())))
        hints = hints_of(section)
        given: dict[str, Any] = {}
        for name, each in by_name.items():
            inner = value.get(name)
            if inner is None or inner.kind == "null":
                if is_required(each):
                    raise self._error(value, f"{path}.{name} is missing: {each.metadata['help']}")
                continue
            given[each.name] = self._typed(hints[each.name], inner, f"{path}.{name}")
        made = section(**given)
        try:
            return made.checked() if hasattr(made, "checked") else made
        except SettingsError as error:
            raise self._error(value, f"{path}: {_in_words_of_the_file(str(error))}") from None

    def _typed(self, hint: Any, value: Value, path: str) -> Any:
        if hint is Start:
            return self._start(value, path)
        if is_list(hint) or is_map(hint):
            return self._several(hint, value, path)
        if is_dataclass(hint):
            return self._section(typing.cast(type[Any], hint), value, path)
        if issubclass(hint, StrEnum):
            return self._choice(hint, value, path)
        if hint is bool:
            if value.kind != "bool":
                raise self._error(value, f"{path}: write true or false, not {_shown(value)}")
            return value.text.lower() in ("true", "yes", "on")
        if hint is str:
            if not is_plain(text := self._text(value, path)):
                raise self._error(
                    value,
                    f"{path}: a line end, a tab or a control character is in it: write one line, "
                    f"not {text[:60]!r}",
                )
            return text
        if hint is Duration:
            seconds = seconds_of(value.text) if value.kind == "str" else None
            if seconds is None:
                raise self._error(value, f"{path}: write a time such as 60s: not {_shown(value)}")
            return seconds
        return self._number(hint, value, path)

    def _several(self, hint: Any, value: Value, path: str) -> Any:
        """A list, or a map with keys of the user's own."""
        wanted, words = ("list", "a list") if is_list(hint) else ("map", "keys and values")
        if value.kind != wanted:
            raise self._error(value, f"{path}: write {words}, not {_shown(value)}")
        inner = inner_of(hint)
        if inner is Any:
            return plain_of(value)
        if inner is str:
            # Of the user's own: a value may have several lines.
            texts = {key: self._text(each, f"{path}.{key}") for key, each in value.fields}
            return tuple(texts.values()) if is_list(hint) else MappingProxyType(texts)
        found = {key: self._typed(inner, each, f"{path}.{key}") for key, each in value.fields}
        return tuple(found.values()) if is_list(hint) else MappingProxyType(found)

    def _text(self, value: Value, path: str) -> str:
        if value.kind != "str":
            raise self._error(value, f"{path}: write a text, in quotes: not {_shown(value)}")
        return value.text

    def _number(self, hint: type[Any], value: Value, path: str) -> Any:
        wanted = "a whole number" if hint is int else "a number"
        if value.kind not in (("int",) if hint is int else ("int", "float")):
            raise self._error(value, f"{path}: write {wanted}, not {_shown(value)}")
        try:
            found = hint(value.text.replace("_", ""))
            if not isfinite(found):
                raise ValueError
            return found
        except (OverflowError, ValueError):
            raise self._error(value, f"{path}: write {wanted}, not {_shown(value)}") from None

    def _choice(self, hint: type[StrEnum], value: Value, path: str) -> StrEnum:
        try:
            return hint(value.text)
        except ValueError:
            known = ", ".join(hint)
            raise self._error(value, f"{path}: write one of {known}, not {_shown(value)}") from None

    def _start(self, value: Value, path: str) -> Start:
        if value.kind == "str":
            if value.text in ("latest", "earliest"):
                return Start(value.text)
        elif value.kind == "map":
            self._check_keys(value, path, ("time", "sequenceNumber", "offset"))
            at, number = value.get("time"), value.get("sequenceNumber")
            if at is not None and len(value.fields) == 1:
                return Start("time", at=self._time(at, f"{path}.time"))
            if number is not None and at is None:
                offset = value.get("offset")
                sequence = self._number(int, number, f"{path}.sequenceNumber")
                place = Position(offset.text if offset is not None else NO_OFFSET, sequence)
                return Start("position", position=place)
        raise self._error(
            value,
            f"{path}: write latest, earliest, {{time: 2026-01-31T00:00:00Z}}, "
            "{sequenceNumber: 5} or {offset: '4096', sequenceNumber: 5}",
        )

    def _time(self, value: Value, path: str) -> float:
        try:
            at = moment_of(value.text)
        except ValueError:
            at = None
        if at is None or at.tzinfo is None:
            raise self._error(
                value, f"{path}: write a time with its zone, such as 2026-01-31T00:00:00Z"
            )
        return at.timestamp()


def _shown(value: Value) -> str:
    if value.kind in ("map", "list"):
        return f"a {value.kind}"
    return f"'{value.text:.60}'" if value.kind != "null" else "nothing"


def _in_words_of_the_file(text: str) -> str:
    """A message of typed settings names their fields; the file has other names for them."""
    words = text.split(" ")
    return " ".join(
        ".".join(camel_name(part) for part in word.split(".")) if "_" in word else word
        for word in words
    )
