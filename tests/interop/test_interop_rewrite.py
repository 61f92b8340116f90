"""Rewrites against `MemoryRecords.filterTo` of Kafka: 600 logs of every codec and magic, with transactions, producers and gaps.

Differences that are wanted, and no others:

- Kafka 4 writes v0 and v1 anew as v2, also where every record stays (CMP-9). A rewrite keeps the format, as Kafka up to 3.9 did.
- Kafka refuses to keep the last batch of a log of v0 or v1 that lost all its records, by an exception; a rewrite by a `LossError`.
- Kafka sets the delete horizon of a batch that keeps a tombstone (CMP-5), which starts its deletion; a rewrite deletes nothing by time.
- Compressed streams may differ where the compressor is another one; the records in them do not.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import logsegment as ls
from peers import Peer, Refused
from rewritten_logs import MadeLog, make_log

pytestmark = pytest.mark.interop
LOGS = 600
HEADER = ["baseOffset", "lastOffset", "count", "producerId", "producerEpoch", "baseSequence", "lastSequence", "partitionLeaderEpoch"]
HEADER += ["isTransactional", "isControl", "maxTimestamp", "timestampType", "compression", "magic"]
#: Kafka sets these where a tombstone stays.
HORIZON = ["baseTimestamp", "deleteHorizonMs"]
RECORD = ["offset", "key", "value", "timestampMs", "timestampType", "headers", "sequence", "producerId", "controlType"]


@pytest.mark.timeout(600)
def test_filter_to_makes_the_same_log(peer: Callable[[str], Peer], scratch: Path) -> None:
    refusals: list[str] = []
    seen = {"same bytes": 0, "same batches": 0, "refused": 0, "empty": 0}
    for seed in range(LOGS):
        made = make_log(seed)
        try:
            theirs = filtered(peer("4.3.1" if made.magic == 2 else "3.9.1"), made, scratch)
        except Refused as refusal:
            refusals.append(str(refusal))
            with pytest.raises(ls.LossError):
                ls.rewrite(made.data, drop=made.drop)
            ours = ls.rewrite(made.data, drop=made.drop, allow_lower_end=True).data
            assert ours is not None
            seen["refused"] += 1
            continue
        done = ls.rewrite(made.data, drop=made.drop)
        ours = done.data
        assert ours is not None
        if ours == theirs:
            seen["same bytes"] += 1
        else:
            assert batches(ours, made) == batches(theirs, made), seed
            assert records(ours) == records(theirs), seed
            seen["same batches"] += 1
        seen["empty"] += done.files[0].emptied > 0
        assert ls.validate(ours).ok, seed
    assert min(seen.values()) > 20, seen
    assert all("IllegalState" in refusal for refusal in refusals)


@pytest.mark.timeout(600)
def test_kafka_4_keeps_the_same_records_of_old_formats(peer: Callable[[str], Peer], scratch: Path) -> None:
    compared = 0
    for seed in range(LOGS):
        made = make_log(seed)
        if made.magic == 2:
            continue
        try:
            ours = ls.rewrite(made.data, drop=made.drop).data
        except ls.LossError:
            continue
        theirs = filtered(peer("4.3.1"), made, scratch)
        columns = ["offset", "key", "value", "timestampMs"]
        assert records(ours or b"", columns) == records(theirs, columns), seed
        compared += 1
    assert compared > 100


def filtered(kafka: Peer, made: MadeLog, scratch: Path) -> bytes:
    log, keys, out = (scratch / f"filter.{name}" for name in ("log", "keys", "out"))
    log.write_bytes(made.data)
    keys.write_bytes(b"".join(struct.pack(">i", -1) if key is None else struct.pack(">i", len(key)) + key for key in made.drop))
    kafka.ask("filter", str(log), str(keys), str(out))
    return out.read_bytes()


def batches(data: bytes, made: MadeLog) -> list[tuple[object, ...]]:
    names = HEADER if made.has_nulls else HEADER + HORIZON
    return [tuple(row[name] for name in names) for row in ls.batches(data, resolve=True).to_pylist()]


def records(data: bytes, columns: list[str] | None = None) -> list[dict[str, object]]:
    return ls.decode(data, columns=columns or RECORD, control=True).to_pylist()
