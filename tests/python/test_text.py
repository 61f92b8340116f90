"""Numbers with their nouns in messages."""

from __future__ import annotations

from logsegment._text import count


def test_a_count_agrees_with_its_noun():
    found = [count(number, noun) for number in (0, 1, 2, 15_480_000) for noun in ("byte", "batch", "entry")]
    assert found[:6] == ["0 bytes", "0 batches", "0 entries", "1 byte", "1 batch", "1 entry"]
    assert found[6:] == ["2 bytes", "2 batches", "2 entries", "15,480,000 bytes", "15,480,000 batches", "15,480,000 entries"]
