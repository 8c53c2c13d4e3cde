"""Long texts are cut at the end of a word, and keep their beginning and their end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.bounded import bounded, cut

KEY = "c2VjcmV0LWtleS1vZi10aGVzZS10ZXN0cw+/AAAA"


@given(st.text(max_size=200), st.integers(0, 200))
def test_a_text_that_is_not_long_stays_as_it_is(text: str, more: int) -> None:
    assert bounded(text, len(text) + more) == text


@given(
    st.lists(st.text("ab;=&+/.-_ \"'\n<é,", min_size=1, max_size=30), max_size=60),
    st.integers(2, 200),
)
def test_a_long_text_keeps_its_beginning_and_its_end_and_names_what_is_left_out(
    parts: list[str], longest: int
) -> None:
    text = "".join(parts)
    shown = bounded(text, longest)
    if len(text) <= longest:
        assert shown == text
        return
    first, _, rest = shown.partition("[")
    count, _, last = rest.partition(" characters left out]")
    assert text == first + text[len(first) : len(first) + int(count)] + last
    assert len(first) + len(last) <= longest


@pytest.mark.parametrize("around", ["word {} word ", "'{}', ", '"key":"{}",', "{}\n"])
@pytest.mark.parametrize("more", range(0, 60, 7))
def test_no_part_of_a_key_is_left_where_a_text_is_cut(around: str, more: int) -> None:
    shown = bounded("x" * more + " " + around.format(KEY) * 1_000)
    assert "left out" in shown
    rest = shown.replace(KEY, "")
    assert not any(KEY[at : at + 4] in rest for at in range(len(KEY) - 4))


def test_the_end_of_a_text_without_a_word_is_left_out_whole() -> None:
    shown = bounded(KEY * 10_000)
    assert shown.endswith("characters left out]")


# --- texts for people

WORDS = st.lists(st.text("abcXYZ0189.,;:'(-", min_size=1, max_size=20), min_size=1, max_size=60)


@given(WORDS, st.integers(4, 300))
def test_a_cut_text_is_no_longer_than_it_may_be_and_ends_with_a_whole_word(
    words: list[str], chars: int
) -> None:
    text = " ".join(words)
    shown = cut(text, chars)
    if len(text) <= chars:
        assert shown == text
        return
    assert len(shown) <= chars
    kept = shown.removesuffix("…").removesuffix(" ")
    assert shown.endswith("…") and text.startswith(kept)
    assert not kept or text[len(kept) :].lstrip(",;:([")[:1] == " "


def test_a_cut_text_ends_with_a_whole_sentence_where_one_ends_late_enough() -> None:
    text = (
        "Nothing answers at 10.0.0.1:443. Check the endpoint, and the network. It is tried again."
    )
    assert cut(text, len(text)) == text
    assert cut(text, len(text) - 1) == (
        "Nothing answers at 10.0.0.1:443. Check the endpoint, and the network. …"
    )
    assert cut(text, 60) == "Nothing answers at 10.0.0.1:443. …"
    assert cut("It is so. " + "and so on " * 20, 60).startswith("It is so. and so on")


def test_half_a_key_is_not_left_in_a_cut_text() -> None:
    assert cut(f"the key {KEY} is refused", 20) == "the key …"
    assert cut(KEY * 10, 20) == "…"
