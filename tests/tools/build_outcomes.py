"""Write what the library makes of every hostile case into tests/hostile/outcomes.json, one case a line, for review.

A case where we fail and Kafka does not, or the other way round, is a deviation and must be explained: its text stands in
`DEVIATIONS`. The tool refuses to write a table with an unexplained deviation or an explanation that nothing needs.

    python tests/tools/build_outcomes.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import hostile

BOMB = "Kafka unpacks whatever is there; a batch that unpacks to more than the limits allow is refused before it takes the memory"
ZEROS = (
    "Kafka's consumer fails on a size of 0, its log recovery cuts the zeros off; zeros up to the end are what a preallocated "
    "segment has, so they end the input (SEG-2, FND-17)"
)
UNCOUNTED = (
    "Kafka's consumer gives no records and decompresses nothing; its streaming iterator fails on the empty payload. Here a batch without "
    "records is never decompressed (V2-10)"
)
#: Case -> why we fail where Kafka does not, or do not fail where it does.
DEVIATIONS = {
    "0.7-size-2147483647": "Kafka 0.7.2 takes it for a torn tail; a length beyond the limits is refused as everywhere (max_batch_bytes)",
    "0.7-truncated-only-message": "the reader of fetch responses needs a whole message; a file, as bytes here, may end inside its first",
    "0.7-zero-tail": "Kafka 0.7.2 fails with an index error; zeros up to the end end the input, as in later formats (FND-17)",
    "bomb-gzip-many-records": f"{BOMB} (max_decompressed_bytes)",
    "bomb-gzip-one-record": f"{BOMB} (max_decompressed_bytes)",
    "bomb-lz4-many-records": f"{BOMB} (max_decompressed_bytes)",
    "bomb-lz4-one-record": f"{BOMB} (max_decompressed_bytes)",
    "bomb-snappy-many-records": f"{BOMB} (max_decompressed_bytes)",
    "bomb-snappy-one-record": f"{BOMB} (max_decompressed_bytes)",
    "bomb-zstd-50-million-tiny-records": f"{BOMB} (max_records; Kafka's broker runs out of memory on it)",
    "bomb-zstd-many-records": f"{BOMB} (max_decompressed_bytes)",
    "bomb-zstd-one-record": f"{BOMB} (max_decompressed_bytes)",
    "v2-gzip-empty-payload-count-0": UNCOUNTED,
    "v2-lz4-empty-payload-count-0": UNCOUNTED,
    "v2-snappy-empty-payload-count-0": UNCOUNTED,
    "v2-zero-filled-tail": ZEROS,
    "v2-zero-filled-tail-short": ZEROS,
}


def main() -> None:
    rows = {case.name: row_of(case) for case in hostile.cases()}
    unexplained = {name for name, row in rows.items() if is_deviation(row)} ^ DEVIATIONS.keys()
    if unexplained:
        sys.exit(f"deviations and explanations do not match: {sorted(unexplained)}")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(rows.items()))
    hostile.OUTCOMES.write_text(f'{{"count": {len(rows)}, "outcomes": {{\n{lines}\n}}}}\n')


def row_of(case: hostile.HostileCase) -> dict[str, Any]:
    row = {"kafka": case.kafka} | hostile.observe(case.read(), **case.options)
    if case.name in DEVIATIONS:
        row["deviation"] = DEVIATIONS[case.name]
    return row


def is_deviation(row: dict[str, Any]) -> bool:
    return (row["kafka"] == "ok") != (row["error"] is None)


if __name__ == "__main__":
    main()
