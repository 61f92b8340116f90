"""Avro values to Arrow on one thread: this library, arrow-avro alone, and fastavro to pyarrow, on the same values in one run.

The values are in Confluent's framing. arrow-avro gets them back to back in memory, this library as an Arrow column, as they come from a
record batch; both give batches of 65,536 rows. fastavro decodes each value, and pyarrow builds a column of the dicts.
Prints [{"values", "rows", "value_bytes", "ours", "arrow_avro", "fastavro": {"best", "median"} in seconds, "to_arrow_avro", "to_fastavro"}]
as one JSON line. "to_arrow_avro" is the time of this library divided by that of arrow-avro, "to_fastavro" the time of fastavro and pyarrow
divided by that of this library: of the best rounds.
"""

import argparse
import io
import json
import random
import statistics
import subprocess
import sys
import time

import fastavro
import pyarrow as pa

import logsegment as ls
from benches.paths import ROOT, WORK
from benches.spark.values import SCHEMA, SCHEMA_ID, framed, order
from logsegment._core import decode_values_array
from logsegment._options import ReadOptions
from logsegment._typed_values import planned

BATCH = 65_536
FLAT = {
    "type": "record",
    "name": "Flat",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": "string"},
        {"name": "amount", "type": "double"},
        {"name": "count", "type": "int"},
        {"name": "paid", "type": "boolean"},
    ],
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--fastavro-rounds", type=int, default=3)
    args = parser.parse_args()
    program = build()
    makers = {"orders": (SCHEMA, order), "flat records": (FLAT, flat)}
    print(json.dumps([measured(name, program, schema, make, args) for name, (schema, make) in makers.items()]))


def build():
    """Build the program that calls arrow-avro; return its path."""
    target, manifest = WORK / "values", ROOT / "benches" / "values" / "Cargo.toml"
    command = ["cargo", "build", "-q", "--locked", "--release", "--manifest-path", str(manifest), "--target-dir", str(target)]
    subprocess.run(command, check=True)
    return target / "release" / "arrow-avro-alone"


def flat(rng, number):
    return {"id": number, "name": f"name {rng.randrange(100_000)}", "amount": rng.random(), "count": number % 99, "paid": number % 2 == 0}


def measured(name, program, schema, make, args):
    parsed, rng = fastavro.parse_schema(schema), random.Random(7)
    values = [framed(parsed, make(rng, number)) for number in range(args.rows)]
    column = pa.array(values, pa.binary())
    chunks = [column.slice(start, BATCH) for start in range(0, args.rows, BATCH)]
    schemas = ls.schemas.SchemaSet((ls.schemas.Schema("AVRO", json.dumps(schema), SCHEMA_ID),), "confluent")
    read = planned(ReadOptions(columns=("valueRecord",), values="avro", schemas=schemas), [(None, b"")])

    def ours():
        return [decode_values_array(chunk, None, read.value_schemas, ["valueRecord"], "raise") for chunk in chunks]

    def theirs():
        return pa.array([fastavro.schemaless_reader(io.BytesIO(value[5:]), parsed, None) for value in values])

    ensure_equal(ours(), theirs())
    alone, own = [], []
    for _ in range(3):
        alone += run(program, values, schema, -(-args.rounds // 3))
        own += [timed(ours) for _ in range(-(-args.rounds // 3))]
    slow = [timed(theirs) for _ in range(args.fastavro_rounds)]
    print(f"values: {name}, {sum(map(len, values)) // len(values)} bytes each", file=sys.stderr)
    sides = {
        side: {"best": min(found), "median": statistics.median(found)}
        for side, found in (("ours", own), ("arrow_avro", alone), ("fastavro", slow))
    }
    ratios = {"to_arrow_avro": min(own) / min(alone), "to_fastavro": min(slow) / min(own)}
    return {"values": name, "rows": args.rows, "value_bytes": sum(map(len, values)), **sides, **ratios}


def ensure_equal(ours, theirs):
    found = [row for chunk in ours for row in pa.array(chunk).to_pylist(maps_as_pydicts="strict")]
    assert len(found) == len(theirs)
    # pyarrow infers no maps: the struct that it has for one has a null for each name that a row lacks.
    for row, other in zip(found[::97], theirs.to_pylist()[::97], strict=True):
        assert without_nulls(row) == without_nulls(other)


def without_nulls(value):
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def run(program, values, schema, rounds):
    place = WORK / "values"
    (place / "values.bin").write_bytes(b"".join(values))
    (place / "schema.avsc").write_text(json.dumps(schema))
    command = [program, place / "values.bin", place / "schema.avsc", str(SCHEMA_ID), str(BATCH), str(rounds)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert found["rows"] == len(values)
    return found["seconds"]


def timed(call):
    start = time.perf_counter()
    made = call()
    seconds = time.perf_counter() - start
    del made  # its memory goes back before the next call, outside the clock
    return seconds


if __name__ == "__main__":
    main()
