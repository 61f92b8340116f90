"""Numbers with their nouns: one of a thing is not told as several."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import corpus
from logsegment._text import count
from logsegment.tiered.chunks import Opener
from logsegment.tiered.errors import ChunkError

SOURCES = corpus.TESTS.parent / "python/logsegment"
NOUNS = ("byte", "record", "batch", "segment", "entry", "partition", "upload", "chunk", "plugin", "file", "row", "offset")
#: Numbers that are never one: compared before, or constants. And a word.
NEVER_ONE = {
    "_decode.py": ["'its' if len(others) == 1 else 'their'"],
    "cli/output/stats_text.py": ["V2_HEADER - saved.per_batch"],
    "cli/options.py": ["LEAST_KEY_BYTES"],
    "plugins/topic_registry.py": ["len(topic.partitions)"],
    "plugins/file_registry.py": ["_MAX_BYTES"],
    "plugins/rules.py": ["MAX_ID + 1"],
    "analysis/train_dictionary.py": ["LEAST_BATCHES", "LEAST_SIZE", "_LEAST_BYTES"],
    "analysis/redaction.py": ["LEAST_KEY_BYTES"],
}


def test_one_has_a_noun_of_its_own():
    told = [count(number, noun) for number in (0, 1, 2, 15_480_000) for noun in ("byte", "batch", "entry")]
    assert told[:6] == ["0 bytes", "0 batches", "0 entries", "1 byte", "1 batch", "1 entry"]
    assert told[6:] == ["2 bytes", "2 batches", "2 entries", "15,480,000 bytes", "15,480,000 batches", "15,480,000 entries"]
    with pytest.raises(ChunkError, match="it holds 1 byte instead of 2"):
        Opener(None, is_compressed=False).opened(b"a", 2)


def numbers_before_nouns(path: Path) -> Iterator[str]:
    """What stands in braces before the plural of a noun."""
    plurals = tuple(count(2, noun)[2:] for noun in NOUNS)
    for text in ast.walk(ast.parse(path.read_text())):
        if isinstance(text, ast.JoinedStr):
            for value, behind in zip(text.values, text.values[1:], strict=False):
                if isinstance(value, ast.FormattedValue) and isinstance(behind, ast.Constant):
                    word = str(behind.value).removeprefix(" ").split(" ")[0].strip(":,;.)")
                    if str(behind.value).startswith(" ") and word in plurals:
                        yield ast.unparse(value.value)


def test_texts_count_with_the_helper():
    found = {path.relative_to(SOURCES).as_posix(): sorted(numbers_before_nouns(path)) for path in SOURCES.rglob("*.py")}
    assert len(found) > 100
    assert {name: numbers for name, numbers in found.items() if numbers} == NEVER_ONE
