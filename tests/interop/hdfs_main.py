"""The process of `test_hdfs.py`, since libhdfs starts a Java in whoever opens a URI of HDFS.

python hdfs_main.py URI HERE: HERE is a directory with partitions, which are copied below the URI; what was found there as JSON on stdout.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

import logsegment as ls
from logsegment.spark.write import SegmentWriter, journal

COLUMNS = ["key", "value", "headersRaw", "offset", "timestampMs", "partition", "topic"]
LARGE = "large-0"


def main(root: str, here: Path) -> None:
    put(here, f"{root}kafka")
    found = {
        "records": {
            place.name: [same_records(place, f"{root}kafka/{place.name}", level) for level in LEVELS] for place in sorted(here.iterdir())
        },
        "findings": {place.name: same_findings(place, f"{root}kafka/{place.name}") for place in sorted(here.iterdir())},
        "slice": slice_of(f"{root}kafka/{LARGE}"),
        "command": commands(here / "transactions-multi-segment-0", f"{root}kafka/transactions-multi-segment-0"),
        "missing": {name: said(call) for name, call in missing(f"{root}none-0").items()},
        "crashes": {made: crashed(f"{root}crash-{made}", made) for made in (0, 1, 2, 3)},
        "spark": spark(root, here),
    }
    print(json.dumps(found))


LEVELS: tuple[Any, ...] = ("read_uncommitted", "read_committed")


def put(source: Path, uri: str) -> None:
    system, path = fs.FileSystem.from_uri(uri)
    for file in sorted(source.rglob("*")):
        if file.is_file():
            target = f"{path}/{file.relative_to(source)}"
            system.create_dir(target.rpartition("/")[0], recursive=True)
            with system.open_output_stream(target) as out:
                out.write(file.read_bytes())


def same_records(here: Path, there: str, level: Any) -> int:
    """How many records both give; -1 when they are not the same."""
    mine, theirs = (ls.Log(str(place)).records(columns=COLUMNS, isolation=level).to_pyarrow() for place in (here, there))
    return mine.num_rows if mine.equals(theirs) else -1


def same_findings(here: Path, there: str) -> bool:
    def shape(place: str) -> list[tuple[Any, ...]]:
        return [(one.rule, one.position, one.path.rpartition("/")[2]) for one in ls.Log(place).validate().findings]

    return shape(str(here)) == shape(there)


def slice_of(there: str) -> dict[str, int]:
    """1 % of the offsets."""
    before = ls.stores.io_stats().bytes_fetched
    rows = ls.Log(there).records(columns=["offset"], start_offset=5000, end_offset=5100).read_all().num_rows
    return {"rows": rows, "bytes": ls.stores.io_stats().bytes_fetched - before}


def commands(here: Path, there: str) -> list[dict[str, Any]]:
    found = []
    for verb in (["cat", "--offset", "10..20", "--columns", "offset,value"], ["batches", "--json"]):
        mine, theirs = (
            subprocess.run([sys.executable, "-m", "logsegment", *verb, str(place)], capture_output=True, text=True)
            for place in (here, there)
        )
        found.append(
            {
                "code": theirs.returncode,
                "lines": len(theirs.stdout.splitlines()),
                "same": theirs.stdout.replace(there, str(here)) == mine.stdout,
            }
        )
    return found


def missing(there: str) -> dict[str, Callable[[], object]]:
    return {"log": lambda: ls.Log(there), "file": lambda: ls.decode(ls.FileSource(f"{there}/{0:020}.log")).read_all()}


def said(call: Callable[[], object]) -> str:
    try:
        return f"no error but {call()}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def crashed(target: str, made: int) -> list[tuple[int, str]]:
    """What is there when a commit was interrupted after so many renames, and another one came."""
    write(target, "a")
    move = journal._make

    def crash(place: str, moves: list[journal.Move]) -> None:
        move(place, moves[:made])
        raise KeyboardInterrupt

    journal._make = crash
    try:
        write(target, "b", "c")
    except KeyboardInterrupt:
        pass
    finally:
        journal._make = move
    write(target, "d")
    return values(f"{target}/orders-0")


def write(target: str, *texts: str) -> None:
    from pyspark.sql.types import BinaryType, StructType

    one = SegmentWriter({"path": target, "topic": "orders"}, StructType().add("value", BinaryType()), False)
    one.commit([one.write(iter([pa.record_batch({"value": [text.encode() for text in texts]})]))])


def values(log: str) -> list[tuple[int, str]]:
    rows = ls.Log(log).records(columns=["offset", "value"]).to_pyarrow().to_pylist()
    return [(row["offset"], row["value"].decode()) for row in rows]


def spark(root: str, here: Path) -> dict[str, Any]:
    from logsegment.spark import register
    from spark_session import spark_session

    session = spark_session()
    register(session)
    totals = ["topic", "partition", "count(*)", "sum(offset)", "sum(length(value))"]

    def read(place: str) -> list[list[Any]]:
        frame = session.read.format("logsegment").option("isolation", "read_committed").load(place)
        return [list(row) for row in frame.groupBy("topic", "partition").agg(*exprs(totals[2:])).orderBy("topic", "partition").collect()]

    def exprs(texts: list[str]) -> list[Any]:
        from pyspark.sql.functions import expr

        return [expr(text) for text in texts]

    def append(count: int, tasks: int) -> str:
        frame = session.range(0, count, 1, tasks).selectExpr("cast(id as string) as value", "0 as partition")
        return said(lambda: frame.write.format("logsegment").option("topic", "orders").mode("append").save(f"{root}written"))

    def follow() -> list[int]:
        batches: list[int] = []
        stream = (
            session.readStream.format("logsegment").options(startingOffsets="earliest", maxOffsetsPerTrigger="150").load(f"{root}written")
        )
        writing = stream.writeStream.foreachBatch(lambda batch, number: batches.append(batch.count()))
        writing.option("checkpointLocation", str(here.parent / "checkpoint")).trigger(availableNow=True).start().awaitTermination()
        return batches

    told = [append(100, 1), append(100, 1), append(100, 2)]
    return {
        "there": read(f"{root}kafka"),
        "here": read(str(here)),
        "told": told,
        "written": values(f"{root}written/orders-0"),
        "left": names(f"{root}written"),
        "followed": follow(),
    }


def names(uri: str) -> list[str]:
    system, path = fs.FileSystem.from_uri(uri)
    return sorted(info.path.partition(f"{path}/")[2] for info in system.get_file_info(fs.FileSelector(path, recursive=True)))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
