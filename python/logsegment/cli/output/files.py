"""Output files and directories of the command line, which are complete or absent."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click

from logsegment._core import Place, rebuild_indexes
from logsegment._output import OutputFile, ensure_writable, is_same, local_path, output_directory, write_file
from logsegment._places import absolute, here, join_path
from logsegment.cli.inputs import choosing_replicas, show_notes
from logsegment.cli.messages import count, say
from logsegment.cli.options import Output
from logsegment.cli.paths import STDIN, LogPaths
from logsegment.inputs.input_segment import InputSegment
from logsegment.segment_files.discovery import found_in, size_of
from logsegment.segment_files.output_names import directory_name

#: How a caller of the command line allows to replace an existing file.
HINT = "pass --overwrite to replace it"


def output_file(path: str, overwrite: bool) -> OutputFile:
    """Return a file that is complete or absent."""
    return OutputFile(path, overwrite=overwrite, hint=HINT)


@contextmanager
def whole_file(path: str, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a file that is complete or absent, for a verb that always writes it."""
    with output_file(path, overwrite) as output:
        yield output.file


def ensure_output(path: str, inputs: Iterable[InputSegment], overwrite: bool) -> None:
    """Raise an error, before anything is read, if a file cannot be an output.

    Raises:
        OSError: if the file exists and is not to be replaced, or is of a kind that cannot be written to.
        click.UsageError: if it is one of the inputs, or is in an object store.
    """
    for segment in inputs:
        source = here(segment.path) if segment.is_regular else None
        if source is not None and is_same(path, source):
            raise click.UsageError(f"{path} is an input; inputs are never overwritten")
    try:
        ensure_writable(path, overwrite=overwrite, hint=HINT)
    except ValueError as mistake:
        raise click.UsageError(str(mistake)) from None


#: Rows and bytes of an Arrow batch on its way into a file; a Parquet row group is one. pyarrow holds about ten of them while it writes.
BATCH_SIZE = 1 << 16
BATCH_BYTES = 4 << 20


class TableFile:
    """A table that is written batch by batch, in bounded memory; the schema is that of the first batch that comes."""

    def __init__(self, output: Output, stack: ExitStack) -> None:
        self._kind = output.kind
        self._sink = stack.enter_context(whole_file(output.path, output.overwrite))
        self._stack = stack
        self._writer: Any = None

    def begin(self, schema: Any) -> None:
        """Name the columns, so that a table without rows has them too."""
        if self._writer is None:
            self._writer = self._stack.enter_context(self._open(schema))

    def write(self, batch: Any) -> None:
        """Append a `pyarrow.RecordBatch`."""
        self.begin(batch.schema)
        if batch.num_rows:
            self._writer.write_batch(batch)

    def _open(self, schema: Any) -> Any:
        if self._kind == "arrow":
            import pyarrow as pa

            return pa.ipc.new_file(self._sink, schema)
        import pyarrow.parquet as pq

        return pq.ParquetWriter(self._sink, schema, compression="zstd")


def pyarrow_for(output: Output) -> Any:
    """Import pyarrow.

    Raises:
        click.UsageError: if it is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.compute
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise click.UsageError(f"--{output.kind} needs pyarrow: pip install pyarrow") from None
    return pa


#: Files of a partition directory that stay true when its segments are rewritten.
KEPT_FILES = ("partition.metadata",)


def whole_directory(output: str) -> AbstractContextManager[Path]:
    """Return a new directory that is complete or absent.

    Raises:
        click.UsageError: if the output is standard output or is in an object store.
    """
    if output == STDIN:
        raise click.UsageError("a directory cannot be written to standard output; pass --output with a new directory")
    try:
        local_path(output)
        return output_directory(output)
    except ValueError as mistake:
        raise click.UsageError(str(mistake)) from None


def ensure_named_files(segments: Iterable[InputSegment]) -> None:
    """Refuse segments that have no name of a segment.

    Raises:
        click.UsageError: naming the first of them.
    """
    for segment in segments:
        if segment.base_offset is None:
            raise click.UsageError(f"{segment.name} is not named after an offset; pass it alone, without directories")


def ensure_own_directories(segments: Iterable[InputSegment]) -> None:
    """Refuse segments that have no name of a segment, and partitions that would share a directory of the output.

    Raises:
        click.UsageError: naming them.
    """
    owners: dict[str, str] = {}
    for segment in segments:
        ensure_named_files([segment])
        directory = absolute(segment.directory)
        owner = owners.setdefault(directory_name(segment), directory)
        if owner != directory:
            raise click.UsageError(f"{owner} and {directory} would become one directory; pass one of them at a time")


def begun_directory(segment: InputSegment, output: Path, name: str | None = None) -> Path:
    """Make the directory of a segment's partition in the output, with the small files that stay valid.

    Args:
        segment: a segment.
        output: the output.
        name: the directory in the output; None for the name of the partition.
    """
    target = output / (directory_name(segment) if name is None else name)
    target.mkdir(parents=True, exist_ok=True)
    for kept in KEPT_FILES:
        if not (target / kept).exists():
            _keep(segment, kept, target)
    return target


def say_inputs(output: str | None, logs: LogPaths, *, quiet: bool) -> None:
    """Say what is not read of these paths, and how much space an output may need that is not larger than their segments.

    Args:
        output: the output; None if nothing is written.
        logs: the inputs.
        quiet: say only which offsets are missing.

    Raises:
        click.UsageError: if a partition is in several directories and --replica chooses none of them.
    """
    with choosing_replicas():
        files, findings = found_in(list(logs.paths), options=logs.replica_options)
    show_notes(findings, quiet=quiet)
    if output is not None and not quiet:
        say_needed(output, sum(size_of(file) for file in files))


def say_needed(output: str, needed: int) -> None:
    """Say how much space an output may need, before the work starts."""
    above = Path(output).absolute().parent
    while not above.exists():
        above = above.parent
    free = shutil.disk_usage(above).free
    say(f"needs up to {count(needed, 'byte')} for {output}; {count(free, 'byte')} are free")
    if free < needed:
        say("warning: that may not be enough; nothing will be left if it is not")


def rebuild_sidecars(output: Path) -> None:
    """Make the indexes, snapshots and epochs of every partition in an output directory."""
    for target in sorted({path.parent for path in output.rglob("*.log")}):
        logs = sorted(target.glob("*.log"))
        rebuild_indexes([(path, int(path.name[:20])) for path in logs], target)


def _keep(segment: InputSegment, name: str, target: Path) -> None:
    """Copy a small file of a segment's directory, if it exists."""
    kept = Place(join_path(segment.directory, name)).read()
    if kept is not None:
        write_file(target / name, kept)
