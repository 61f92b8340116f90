"""Every writer against every reader, by format and codec: what was written comes back equal, or fails for a reason that is told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

import cells
import record
from cells import CODECS, Made
from kraft import Broker
from matrix import Matrix, judged
from peers import Peer

pytestmark = pytest.mark.interop
MEASURED: record.Results = {}


@pytest.fixture(scope="module")
def matrix(peer: Callable[[str], Peer], new_broker: Callable[[], Broker], scratch: Path) -> Iterator[Matrix]:
    made = Matrix(peer, new_broker(), scratch)
    yield made
    made.broker.stop()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("writer", "reader"), list(cells.pairs()))
def test_what_one_wrote_the_other_reads(matrix: Matrix, writer: str, reader: str) -> None:
    red = {}
    wanted = [made for made in cells.files() if made.writer == writer]
    for made in wanted:
        if cells.impossible(cells.READERS[reader], made.format, made.codec) is None:
            outcome, why = judged(made, reader, matrix.answer(made, reader))
            MEASURED[made.writer, made.format, made.codec, reader] = (outcome, why if outcome == "explained" else "")
            if outcome == "red":
                red[f"{made.format} {made.codec}"] = why
    assert not red, red


def test_all_cells_were_run_and_are_as_recorded() -> None:
    """Runs last: with `INTEROP_RECORD` set it writes the record and its page, else it compares with them."""
    expected = {
        (made.writer, made.format, made.codec, reader.name)
        for made in cells.files()
        for reader in cells.READERS.values()
        if cells.impossible(reader, made.format, made.codec) is None
    }
    if not MEASURED:
        pytest.skip("the cells were not selected")
    assert set(MEASURED) == expected
    if os.environ.get("INTEROP_RECORD"):
        record.save(MEASURED, {name: version(name) for name in ("confluent-kafka", "kafka-python", "aiokafka")})
        record.PAGE.write_text(record.page(record.load()))
    recorded = record.load()
    assert {cell: outcome for cell, (outcome, _) in MEASURED.items()} == {cell: outcome for cell, (outcome, _) in recorded.items()}


def test_the_page_says_what_was_recorded() -> None:
    assert record.PAGE.read_text() == record.page(record.load()), "run `make interop`"


def test_the_table_is_as_wide_as_promised() -> None:
    """At least 8 writers, 6 readers and all codecs; no writer or reader without a cell."""
    assert len(cells.WRITERS) >= 8
    assert len(cells.READERS) >= 6
    assert {made.codec for made in cells.files()} == set(CODECS)
    assert {made.writer for made in cells.files()} == set(cells.WRITERS)


def test_every_explanation_is_of_a_cell() -> None:
    every = [(Made(*cell[:3]), cell[3]) for cell in record.load()]
    for explained in cells.EXPLAINED:
        assert any(explained.covers(made, reader) for made, reader in every), explained
