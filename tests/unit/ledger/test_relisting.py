"""What has not changed from one listing to the next is read once, and is what it was."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

import pytest

from tidegate.ledger import layout, members
from tidegate.ledger.layout import GroupNames, listing_of, read_listing
from tidegate.ledger.listing_xml import read_blob, read_page
from tidegate.ledger.relisting import Relisting
from tidegate.model import Listing, Owner, Position

NAMES = GroupNames("ns.example.net", "telemetry", "$Default")
HEAD = '<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="x"><Blobs>'
TAIL = "</Blobs><NextMarker>{marker}</NextMarker></EnumerationResults>"


def blob(name: str, metadata: dict[str, str], etag: int, lease: str = "leased") -> str:
    told = "".join(f"<{key}>{escape(value)}</{key}>" for key, value in metadata.items())
    return (
        f"<Blob><Name>{name}</Name><Properties>"
        f"<Last-Modified>Wed, 18 Nov 2026 15:40:22 GMT</Last-Modified><Etag>{etag}</Etag>"
        f"<LeaseState>{lease}</LeaseState></Properties><Metadata>{told}</Metadata></Blob>"
    )


@dataclass
class Ledger:
    """A ledger whose blobs change by chance."""

    dice: random.Random
    blobs: dict[str, str] = field(default_factory=dict)
    etag: int = 0

    def change(self) -> None:
        partition = self.dice.randrange(16)
        self.etag += 1
        prefix = NAMES.prefix
        match self.dice.randrange(5):
            case 0:
                owner = Owner(f"pod-{self.dice.randrange(3)}", "life")
                metadata = layout.ownership_metadata(owner, self.etag, "n")
                lease = self.dice.choice(("leased", "available", "broken"))
                name = f"{prefix}ownership/{partition}"
                self.blobs[name] = blob(name, metadata, self.etag, lease)
            case 1:
                position = Position(str(self.etag), self.etag)
                metadata = layout.checkpoint_metadata(position, 1, "n", 5.0, "")
                name = f"{prefix}checkpoint/{partition}"
                self.blobs[name] = blob(name, metadata, self.etag)
            case 2:
                name = f"{prefix}member/pod-{partition % 3}"
                told = members.name_metadata(f"pod-{partition % 3}") | {"weight": str(self.etag)}
                self.blobs[name] = blob(name, told, self.etag)
            case 3:
                name = f"{prefix}ownership/{partition}"
                self.blobs[name] = blob(name, {"ownerid": "&<>", "epoch": "no number"}, self.etag)
            case _:
                if self.blobs:
                    del self.blobs[self.dice.choice(sorted(self.blobs))]

    def pages(self, size: int) -> Iterator[bytes]:
        names = sorted(self.blobs)
        for at in range(0, max(len(names), 1), size):
            marker = "more" if at + size < len(names) else ""
            inner = "".join(self.blobs[name] for name in names[at : at + size])
            yield (HEAD + inner + TAIL.format(marker=marker)).encode()


def relisted(relisting: Relisting, pages: list[bytes]) -> Listing:
    relisting.begin()
    entries = [entry for page in pages for entry in relisting.page(page)[0]]
    relisting.finish()
    return listing_of(entries, 7.0)


@pytest.mark.parametrize("seed", range(20))
def test_every_listing_is_that_of_a_reader_that_remembers_nothing(seed: int) -> None:
    dice = random.Random(seed)
    ledger, relisting = Ledger(dice), Relisting(NAMES)
    for _ in range(40):
        for _ in range(dice.randrange(6)):
            ledger.change()
        pages = list(ledger.pages(dice.choice((1, 7, 5000))))
        rows = [row for page in pages for row in read_page(page)[0]]
        assert relisted(relisting, pages) == read_listing(NAMES, rows, 7.0)
        assert [bool(relisting.page(page)[1]) for page in pages[:-1]] == [True] * (len(pages) - 1)


def test_what_has_not_changed_is_the_same_value() -> None:
    ledger, relisting = Ledger(random.Random(1)), Relisting(NAMES)
    for _ in range(60):
        ledger.change()
    first = relisted(relisting, list(ledger.pages(5000)))
    second = relisted(relisting, list(ledger.pages(5000)))
    assert first.ownerships and first.checkpoints and first.members and first.flaws
    for partition, ownership in first.ownerships.items():
        assert second.ownerships[partition] is ownership


def test_what_members_said_is_kept_once_by_two_readers_of_one_ledger() -> None:
    """One reads the whole ledger, and one its members alone: neither keeps what the other has."""
    ledger, whole = Ledger(random.Random(1)), Relisting(NAMES)
    for _ in range(60):
        ledger.change()
    members_alone = Relisting(NAMES, whole)
    first = relisted(whole, list(ledger.pages(5000)))
    text = blob(f"{NAMES.prefix}member/pod-0", members.name_metadata("pod-0"), 1000)
    said = relisted(members_alone, [(HEAD + text + TAIL.format(marker="")).encode()])
    ledger.blobs = {name: each for name, each in ledger.blobs.items() if "/member/" not in name}
    ledger.blobs[f"{NAMES.prefix}member/pod-0"] = text
    again = relisted(whole, list(ledger.pages(5000)))
    assert again.members["pod-0"] is said.members["pod-0"]
    assert first.checkpoints
    for partition, checkpoint in first.checkpoints.items():
        assert again.checkpoints[partition] is checkpoint


def test_a_page_that_is_written_in_another_way_is_read_as_a_whole() -> None:
    one = blob(f"{NAMES.prefix}roster", {}, 1).replace("<Blob>", '<Blob kind="x">')
    two = blob(f"{NAMES.prefix}checkpoint/0", {"offset": "5", "sequencenumber": "5"}, 2)
    for inner in (one + two, two + one, f"{two}\n<!-- a word -->{two}", f"{two}\n  {two}"):
        page = (HEAD + inner + TAIL.format(marker="")).encode()
        rows, _ = read_page(page)
        assert relisted(Relisting(NAMES), [page]) == read_listing(NAMES, rows, 7.0)


@pytest.mark.parametrize("body", [b"", b"<html/>", b"<Blob>", b"<Blob></Blob>", b"x<Blob></Blob>y"])
def test_what_is_no_listing_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="listing"):
        Relisting(NAMES).page(body)


PLAIN = blob("a/b", {"offset": "5", "Nonce": "x y"}, 7)


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.replace("<Nonce>x y</Nonce>", "<nonce />"),
        PLAIN.replace("<Nonce>x y</Nonce>", "<nonce></nonce>"),
        PLAIN.replace("x y", "x &amp; y"),
        PLAIN.replace("x y", "<![CDATA[x</Nonce>]]>"),
        PLAIN.replace("<Nonce>", "<!-- <Etag>8</Etag> --><Nonce>"),
        PLAIN.replace("<Nonce>", '<Nonce at="7">'),
        PLAIN.replace("<Nonce>", "<Nonce>\n"),
        PLAIN.replace("<Metadata>", "\n  <Metadata>"),
        PLAIN.replace("<Properties>", "<Properties><Other><Etag>9</Etag></Other>"),
        PLAIN.replace("</Etag>", "<i/></Etag>"),
        PLAIN.replace("<Metadata>", "<Tags><Etag>9</Etag></Tags><Metadata>"),
        PLAIN.replace("</Metadata>", "</Metadata><OrMetadata /><BlobTags/>"),
        PLAIN.replace("</Metadata>", "</Metadata><OrMetadata><x>1</x></OrMetadata>"),
        PLAIN.replace("<Properties>", "<VersionId>2026</VersionId><Properties>"),
        PLAIN.replace("<Name>", '<Name Encoded="true">'),
        PLAIN.replace("<LeaseState>leased</LeaseState>", ""),
        PLAIN[: PLAIN.index("<Metadata>")] + "</Blob>",
        PLAIN[: PLAIN.index("<Metadata>")] + "<Metadata/></Blob>",
    ],
)
def test_a_blob_is_read_quickly_only_as_it_would_be_read_as_xml(text: str) -> None:
    page = (HEAD + text + TAIL.format(marker="")).encode()
    ((row,), _) = read_page(page)
    assert read_blob(text.removeprefix("<Blob>").removesuffix("</Blob>")) in (None, row)


def test_blobs_as_services_write_them_are_read_quickly() -> None:
    inner = PLAIN.removeprefix("<Blob>").removesuffix("</Blob>")
    assert read_blob(inner) is not None
    assert read_blob(inner.replace("</Metadata>", "</Metadata><OrMetadata />")) is not None


def test_a_name_with_a_carriage_return_is_left_to_the_reader_of_xml() -> None:
    """There it is a line feed."""
    inner = "<Name>a/0\r</Name><Properties><Etag>0x8D</Etag></Properties>"
    assert read_blob(inner) is None
