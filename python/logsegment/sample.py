"""`python -m logsegment.sample DIR`: write the files that the examples of the documentation read.

Kafka wrote the segments; some were damaged, cut or moved afterwards. The table `FILES` says what each of them is.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from logsegment._output import output_directory

_SOURCES = Path(__file__).with_name("_sample")
SEGMENT = f"{0:020}.log"


@dataclass(frozen=True)
class Sample:
    """A file or a directory of the sample, and the packaged files that it is made of: path below it -> packaged path."""

    name: str
    description: str
    parts: dict[str, str] = field(default_factory=dict)

    def write(self, directory: Path) -> None:
        """Copy the packaged files into a directory, under the name of the sample."""
        for part, source in (self.parts or {"": self.name}).items():
            copy(_SOURCES / source, directory / self.name / part)


#: In the order of the documentation.
FILES = (
    Sample(SEGMENT, "240 records in 20 batches of zstd, written by Kafka 4.1", {"": f"orders-0/{SEGMENT}"}),
    Sample("orders-0", "the same segment as a partition directory"),
    Sample("examples", "damaged-0: the same segment with one bit changed", {"damaged-0": "damaged-0"}),
    Sample("payments-0", "six segments with transactions, some of them aborted"),
    Sample("kafka-logs", "a log directory with orders-0 and payments-0", {name: name for name in ("orders-0", "payments-0")}),
    Sample("broken-0", "a partition with a damaged batch"),
    Sample("backup", "orders-0 without its last batches"),
    Sample("old-logs", "a log directory of Kafka 0.8.2 with clicks-0"),
    Sample("__consumer_offsets-1", "committed offsets of consumer groups"),
    Sample("__cluster_metadata-0", "the metadata of a cluster, with snapshots"),
    Sample("dead-cluster", "the log directory of a broker of Kafka 4.3 that was killed"),
    Sample("_schemas-0", "the log of a schema registry"),
    Sample("alpha-avro-refs-0", "Avro values, whose schemas refer to others"),
    Sample("alpha-avro-incompatible-0", "Avro values of schemas that are not compatible"),
    Sample("alpha-json-refs-0", "JSON values, whose schemas refer to others"),
    Sample("alpha-proto-nested-0", "Protobuf values of nested messages"),
    Sample("alpha-mixed-0", "values of several formats"),
    Sample("users-0", "Avro values without a registry"),
    Sample("user.avsc", "the schema of users-0"),
    Sample("schemas", "bare.avsc: a schema file"),
    Sample("lake", "a bucket with orders-0", {"orders-0": "orders-0"}),
    Sample("bucket", "13 partitions in tiered storage, some compressed or encrypted"),
    Sample("key1.der", "a private key of the bucket, for examples only"),
    Sample("key2.der", "the other one"),
)


def write(directory: str) -> Path:
    """Write the files into a new directory, and return its path.

    Args:
        directory: the directory. An empty one may exist already.

    Raises:
        FileExistsError: if the directory has files.
        OSError: if it cannot be written.
    """
    with output_directory(directory, may_be_empty=True) as hidden:
        for sample in FILES:
            sample.write(hidden)
    return Path(directory)


def copy(source: Path, target: Path) -> None:
    """Copy a file or the files of a directory, with the rights of new files."""
    if source.is_dir():
        shutil.copytree(source, target, copy_function=shutil.copyfile, dirs_exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def main(arguments: list[str]) -> int:
    """Write the files and print what they are; return the exit code."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m logsegment.sample DIR", file=sys.stderr)
        return 2
    try:
        directory = write(arguments[0])
    except OSError as error:
        print(f"logsegment.sample: {error}", file=sys.stderr)
        return 2
    width = max(len(sample.name) for sample in FILES)
    for sample in FILES:
        print(f"{sample.name:{width}}  {sample.description}")
    print(f"try: cd {directory} && logsegment verify examples/damaged-0")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
