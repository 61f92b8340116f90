"""Batches of the proposed format v3 whose codec is a plugin (S-P), in both layouts, and what `inspect` shows of every codec."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import corpus
import logsegment as ls
from logsegment.plugins import Entry, MemoryRegistry

PLUGINS = MemoryRegistry([Entry(3, "bz", "logsegment.plugins.ready:Bzip2", "v1.0")])
READING: dict[str, Any] = {"format": "v3", "codecs": PLUGINS}
COLUMNS = ["offset", "key", "value", "timestampMs", "producerId", "sequence"]
VALUES = [b"value %d" % index for index in range(9)]
SOURCE = pa.table({"key": [b"k"] * 9, "value": VALUES, "timestampMs": [1_600_000_000_000 + index for index in range(9)]})

layouts = pytest.mark.parametrize("metadata_first", [False, True])


def made(codec: str = "bz", **options: Any) -> bytes:
    return ls.encode(SOURCE, compression=codec, codecs=PLUGINS, **options)


@layouts
def test_every_reader_takes_a_plugin(metadata_first: bool):
    data = made(format="v3", metadata_first=metadata_first)
    assert corpus.rows_of(ls.decode(data, columns=COLUMNS, **READING)) == corpus.rows_of(ls.decode(made(), columns=COLUMNS, codecs=PLUGINS))
    assert [row["compression"] for row in corpus.rows_of(ls.batches(data, **READING))] == ["bz"]
    for depth in ("headers", "metadata", "full"):
        assert [finding.rule for finding in ls.validate(data, depth=depth, **READING).findings] == ["EXPERIMENTAL"]
    # A plugin gives everything or nothing.
    assert ls.validate(data, depth="metadata", **READING).io_stats["bytes_inflated"] > sum(map(len, VALUES))
    refused = ls.validate(data, format="v3")
    assert [finding.rule for finding in refused.undecompressed] == ["S-P19"]
    assert [finding.rule for finding in refused.findings] == ["EXPERIMENTAL", "S-P19"]


@layouts
def test_conversions_are_those_of_v2(metadata_first: bool):
    """S-C1 to S-C4, S-P22."""
    data = made(format="v3", metadata_first=metadata_first)
    assert ls.convert(data, to="v2", **READING).data == made()
    assert ls.convert(made(), to="v3", metadata_first=metadata_first, codecs=PLUGINS).data == data
    packed = ls.convert(data, to="v3", metadata_first=metadata_first, compression="zstd", **READING).data
    assert packed == made("zstd", format="v3", metadata_first=metadata_first)
    down = ls.convert(data, to="v1", **READING)
    assert (down.data, down.stopped_at.compression, down.stopped_at.base_offset) == (b"", "bz", 0)
    assert (
        ls.convert(data, to="v1", compression="gzip", **READING).data
        == ls.convert(made(), to="v1", compression="gzip", codecs=PLUGINS).data
    )


@layouts
def test_an_aborted_transaction_of_a_plugin_is_not_given(metadata_first: bool):
    source = ls.FileSource(corpus.CORPUS / "modern-4.1.0/data/transactions-multi-segment-0/00000000000000000000.log")
    log = ls.convert(source, to="v3", compression="bz", metadata_first=metadata_first, codecs=PLUGINS).data
    read = {"columns": ["offset", "value"], "isolation": "read_committed"}
    expected = corpus.rows_of(ls.decode(source, **read))
    assert corpus.rows_of(ls.decode(log, **read, **READING)) == expected
    assert (len(expected), ls.decode(log, columns=["offset"], **READING).read_all().num_rows) == (9, 16)
    # Markers are never compressed.
    assert {row["compression"] for row in corpus.rows_of(ls.batches(log, **READING)) if row["isControl"]} == {"none"}


@layouts
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd", "bz"])
def test_inspect_shows_the_records_of_every_codec(codec: str, metadata_first: bool):
    entry = ls.inspect(made(codec, format="v3", metadata_first=metadata_first), **READING)
    fields = [field for _, field in entry.walk()]
    assert [field.value for field in fields if field.name == "value" and isinstance(field.value, bytes)] == VALUES
    assert [field.value for field in fields if field.name == "offsetDelta"] == list(range(9))
    assert ("payloads" in {field.name for field in fields}) == metadata_first
    assert {problem.rule for field in fields for problem in field.problems} == {"EXPERIMENTAL"}
