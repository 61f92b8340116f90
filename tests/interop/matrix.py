"""Every writer's files, and what every reader says about them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import pyarrow as pa

import cells
import librdkafka
import logsegment as ls
import rows
from cells import MAGICS, Made
from dump_log import parsed
from kraft import VERSION as BROKER_VERSION
from kraft import Broker
from peers import Peer, Refused
from python_peers import RecordClasses
from rows import Row

COLUMNS = ["offset", "timestampMs", "timestampType", "key", "value", "headers"]
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
SEGMENT = "00000000000000000000.log"
PACKAGES = {"kafka-python": "kafka", "aiokafka": "aiokafka"}
#: Writers that a broker stands behind.
LIVE = ("Java producer 4.3.1", "librdkafka", "franz-go")

Answer = list[Row] | Exception


class Matrix:
    """Writes all files first: those of clients that need a broker come out of its log. The same broker then serves all of them."""

    def __init__(self, peer: Callable[[str], Peer], broker: Broker, scratch: Path) -> None:
        self.peer = peer
        self.broker = broker
        self.scratch = scratch
        self.failures: dict[Made, Exception] = {}
        self.files: dict[Made, Path] = {}
        self.answers: dict[tuple[Made, str], Answer] = {}
        self.serve()

    def serve(self) -> None:
        """Start the broker, let clients write, stop it, put every file into its directory, start it again."""
        wanted = cells.files()
        live = [made for made in wanted if made.writer in LIVE]
        self.broker.start()
        self.broker.create_topics(map(str, wanted))
        for made in live:
            self.produce(made)
        self.broker.stop()
        for made in wanted:
            self.write(made)
        for made, path in self.files.items():
            self.broker.replace(str(made), [path])
        self.broker.start()

    def produce(self, made: Made) -> None:
        batches = rows.batches(made.format)
        if made.writer == "librdkafka":
            librdkafka.produce(self.broker.servers, str(made), batches, made.codec)
            return
        spec = self.scratch / f"{made}.spec"
        rows.save_spec(spec, batches, MAGICS[made.format], made.codec)
        name = "go" if made.writer == "franz-go" else BROKER_VERSION
        self.peer(name).ask("produce", self.broker.servers, str(made), str(spec))

    def write(self, made: Made) -> None:
        """The file of a writer, as a segment in a directory of its own; a writer's failure is kept."""
        path = self.scratch / f"{made}-0" / SEGMENT
        try:
            data = self.bytes_of(made)
        except Exception as failure:
            self.failures[made] = failure
            return
        path.parent.mkdir()
        path.write_bytes(data)
        self.files[made] = path

    def bytes_of(self, made: Made) -> bytes:
        if made.writer in LIVE:
            return (self.broker.partition(str(made)) / SEGMENT).read_bytes()
        magic = MAGICS[made.format]
        batches = rows.batches(made.format)
        if made.writer == "logsegment":
            return own_bytes([row for batch in batches for row in batch], made.format, made.codec)
        if made.writer == "logsegment convert":
            source = self.peer("3.9.1").write(rows.batches("v2"), 2, "none")
            return ls.convert(source, to=made.format, compression=made.codec, allow_loss=True).data
        if made.writer in PACKAGES:
            return RecordClasses(PACKAGES[made.writer]).write(batches, magic, made.codec)
        return self.peer(made.writer.removeprefix("Kafka ")).write(batches, magic, made.codec)

    def answer(self, made: Made, reader: str) -> Answer:
        """The rows that a reader finds in a file, or how it fails."""
        if made in self.failures:
            return self.failures[made]
        if reader == "librdkafka":
            return self.by_librdkafka[made]
        try:
            return self.read(made, reader)
        except Exception as failure:
            return failure

    def read(self, made: Made, reader: str) -> list[Row]:
        path = self.files[made]
        if reader == "logsegment":
            return own_rows(path)
        if reader in PACKAGES:
            return RecordClasses(PACKAGES[reader]).read(path.read_bytes())
        if reader == "dump-log 4.3.1":
            return self.dumped(made)
        if reader == "Java consumer 4.3.1":
            return self.consumed(made)
        return self.peer("go" if reader == "franz-go" else reader.removeprefix("Kafka ")).read(path)

    def consumed(self, made: Made) -> list[Row]:
        out = self.scratch / f"{made}.consumed"
        self.peer(BROKER_VERSION).ask("consume", self.broker.servers, str(made), "read_uncommitted", str(out))
        return rows.load_rows(out)

    def dumped(self, made: Made) -> list[Row]:
        """The dump tool prints bytes as text, so it is asked about validity, offsets and sizes; what agrees is the expected."""
        out = self.scratch / f"{made}.dump"
        self.peer(BROKER_VERSION).ask("dump", str(self.files[made]), str(out))
        dump = parsed(out.read_text())
        expected = expected_rows(made)
        if dump.complaints or not dump.batches or not all(valid for _, valid in dump.batches):
            raise ValueError(f"dump-log: {dump.complaints or dump.batches}")
        if dump.records != [(row.offset, size(row.key), size(row.value)) for row in expected]:
            raise ValueError(f"dump-log: {dump.records}")
        return expected

    @cached_property
    def by_librdkafka(self) -> dict[Made, Answer]:
        """All topics by one consumer, because each of them has its own waiting times."""
        answers: dict[Made, Answer] = {}
        names = {str(made): made for made in self.files}
        for name, found in librdkafka.consume(self.broker.servers, names).items():
            answers[names[name]] = found
        return answers


def own_bytes(records: list[Row], kind: str, codec: str) -> bytes:
    """Our writing, with batches as large as it makes them."""
    columns = {
        "offset": pa.array([row.offset for row in records], pa.int64()),
        "key": pa.array([row.key for row in records], pa.binary()),
        "value": pa.array([row.value for row in records], pa.binary()),
        "timestampMs": pa.array([row.timestamp for row in records], pa.int64()),
        "headers": pa.array([[{"key": key, "value": value} for key, value in row.headers] for row in records], HEADERS),
    }
    if kind != "v2":
        del columns["headers"]
    return ls.encode(pa.table(columns), format=kind, compression=codec)


def own_rows(path: Path) -> list[Row]:
    """Our reading: no finding of severity error, then the columns."""
    data = path.read_bytes()
    report = ls.validate(data)
    if not report.ok:
        raise ValueError(f"logsegment: {report.findings[:3]}")
    return rows.rows_of_arrow([pa.table(ls.decode(data, columns=COLUMNS))])


def size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def expected_rows(made: Made) -> list[Row]:
    return [row for batch in rows.batches(made.format) for row in batch]


def judged(made: Made, reader: str, answer: Answer) -> tuple[str, str]:
    """What a cell is worth: "equal", "explained" or "red", and why."""
    explained = cells.explanation(made, reader)
    if isinstance(answer, Exception):
        told = f"{type(answer).__name__}: {answer}" if not isinstance(answer, Refused) else str(answer)
    else:
        told = rows.difference(answer, expected_rows(made)) or ""
    if not told:
        return ("red", f"read as it was written, though: {explained.reason}") if explained else ("equal", "")
    if explained and explained.says in told:
        return "explained", explained.reason
    return "red", told[:400]
