"""Which version of a slice counts, which slices are open, and what may go. Pure.

Rules:
- A version counts where its end is not above the partition's checkpoint: it holds just the events
  that the checkpoint says are handled. What lies beyond was written by somebody who ended before
  the checkpoint stood; its events come again, and so does it.
- What lies beyond may also be the work of a later owner, and this one does not know yet that it has
  none to do. So it goes only once a checkpoint of one's own has stood since it was seen, and only
  as it was seen. What one has written oneself where there was nothing, and what then failed, may go
  at once.
- The partition's state names the versions of open slices, in the same write as the position. One
  that is named and not there is an error: its events would be missing from then on.
- A slice is open while events come for it, and while newer slices are less than `lateness_s` ahead.
  To close one is to forget it: an event that comes later opens it again, from its blob.
- An older version goes when the checkpoint stands that a newer one belongs to, not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tidegate.slices.naming import Version, start_of, start_text
from tidegate.slices.shape import SliceError, SliceStorageError

T = TypeVar("T")

# Slices open at once in a partition; the oldest close first.
MOST_OPEN = 32


def state_key(output: str) -> str:
    """Where the versions of an output are named in a partition's state."""
    return f"slices/{output}"


@dataclass(frozen=True, slots=True)
class OpenSlice(Generic[T]):
    """What was counted in a slice up to one of its events."""

    end: int
    contents: T


@dataclass(frozen=True, slots=True)
class Held(Generic[T]):
    """The open slices of a partition, with all that came up to `through`."""

    through: int
    slices: Mapping[int, OpenSlice[T]] = field(default_factory=dict)

    def advanced(
        self, written: Mapping[int, OpenSlice[T]], through: int, lateness_s: int
    ) -> Held[T]:
        """With slices as they are after a batch; those that nothing is awaited for are closed."""
        slices = {**self.slices, **written}
        newest = max(slices, default=0)
        kept = [
            start for start in sorted(slices) if start in written or newest - start <= lateness_s
        ]
        return Held(through, {start: slices[start] for start in kept[-MOST_OPEN:]})


@dataclass(frozen=True, slots=True)
class Chosen:
    """What to do with the versions that were found of a slice."""

    version: Version | None  # the one that counts
    older: tuple[Version, ...] = ()
    beyond: tuple[Version, ...] = ()


def choose(found: Iterable[Version], after: int, slice_: Version, named: int | None) -> Chosen:
    """Of the versions found, with everything up to `after` handled. Raises SliceError.

    `slice_` says which slice this is; `named`: the end of the version that the state names.
    """
    versions = sorted(set(found))
    upto = after if named is None else min(after, named)
    counting = [version for version in versions if version.end <= upto]
    beyond = tuple(version for version in versions if version.end > upto)
    if named is not None and (not counting or counting[-1].end != named):
        raise SliceStorageError(
            f"partition {slice_.partition}: the slice of {start_text(slice_.start)} up to event "
            f"{named} belongs to the checkpoint and is not there: somebody removed it. Put it "
            "back, or rewind the partition to before the slice began."
        )
    if not counting:
        return Chosen(None, (), beyond)
    return Chosen(counting[-1], tuple(counting[:-1]), beyond)


# --- the state


def named_in(stored: Any, partition: str) -> dict[int, int]:
    """The versions that a state names: starts and ends. Raises SliceError."""
    try:
        named = {start_of(text): end for text, end in (stored or {}).items()}
        if not all(isinstance(end, int) and not isinstance(end, bool) for end in named.values()):
            raise ValueError("an end is no number")
        return named
    except (AttributeError, TypeError, ValueError) as error:
        raise SliceError(
            f"partition {partition}: its state does not name slices as it should ({error}): "
            "another program wrote it. Rewind the partition, which clears it."
        ) from None


def naming(held: Held[Any], trail: Trail) -> dict[str, int]:
    """What the state names: open slices, and closed ones with versions that are to go."""
    named = {start: one.end for start, one in held.slices.items()}
    doubted = {version.start for version in trail.beyond}
    for start, ends in trail.known.items():
        counting = [end for end in ends if end <= held.through]
        if counting and (len(ends) > 1 or start in doubted):
            named.setdefault(start, max(counting))
    return {start_text(start): named[start] for start in sorted(named)}


# The blobs of a version by their suffixes, each with its ETag; "" where that is not known.
Files = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Beyond:
    """The blobs of a version that does not count, and where its reader stood when it saw them; None
    where there was nothing, and it has written them itself."""

    files: Files
    seen_at: int | None = None

    @property
    def is_known(self) -> bool:
        return all(self.files.values())


@dataclass(slots=True)
class Trail:
    """The versions of a partition's slices that are in the container, as far as is known."""

    known: dict[int, set[int]] = field(default_factory=dict)
    # None of these counts, whatever its end.
    beyond: dict[Version, Beyond] = field(default_factory=dict)

    def has(self, version: Version) -> None:
        self.known.setdefault(version.start, set()).add(version.end)
        self.beyond.pop(version, None)

    def saw(self, slice_: Version, beyond: Mapping[Version, Files], seen_at: int) -> None:
        """All that lies beyond of a slice, by a listing."""
        before = {each: self.beyond.pop(each) for each in self._beyond_of(slice_)}
        for version, files in beyond.items():
            known = before.get(version)
            is_same = known is not None and known.files == files
            self.beyond[version] = known if known and is_same else Beyond(files, seen_at)

    def writing(self, version: Version, suffixes: Iterable[str]) -> Beyond:
        """A version that is about to be written: it counts when its batch does."""
        known = self.beyond.get(version)
        return Beyond(dict.fromkeys(suffixes, ""), None if known is None else known.seen_at)

    def etag(self, version: Version, suffix: str) -> str:
        """Of what is there of a version that is written; "" where there should be nothing."""
        known = self.beyond.get(version)
        return "" if known is None else known.files.get(suffix, "")

    def unseen(self) -> set[int]:
        """Slices of which nobody knows what the failed batch has left there."""
        return {version.start for version, each in self.beyond.items() if not each.is_known}

    def withdrawable(self, stands: int) -> dict[Version, Files]:
        """What lies beyond and may go, the newest checkpoint of one's own standing there."""
        return {
            version: each.files
            for version, each in self.beyond.items()
            if each.is_known and (each.seen_at is None or each.seen_at < stands)
        }

    def withdrawn(self, versions: Iterable[Version]) -> None:
        for version in versions:
            self.beyond.pop(version, None)

    def _beyond_of(self, slice_: Version) -> list[Version]:
        return [version for version in self.beyond if version.start == slice_.start]

    def removable(self, stands: int) -> list[tuple[int, int]]:
        """Start and end of versions that no checkpoint needs, the newest standing there."""
        found = []
        for start, ends in self.known.items():
            counting = sorted(end for end in ends if end <= stands)
            found += [(start, end) for end in counting[:-1]]
        return found

    def gone(self, start: int, end: int) -> None:
        self.known[start].discard(end)

    def forget_closed(self, slices: Iterable[int]) -> None:
        """Closed slices of which there is one version are done with."""
        still_open = set(slices) | {version.start for version in self.beyond}
        done = [
            start
            for start, ends in self.known.items()
            if start not in still_open and len(ends) <= 1
        ]
        for start in done:
            del self.known[start]
