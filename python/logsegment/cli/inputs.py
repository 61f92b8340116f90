"""Paths and URIs of the command line to inputs: files, partition directories, trees of them, standard input."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import click

from logsegment._core import Finding, FoundSegments, RecordBatchError, ReplicaChoice, ReplicaError, SegmentKeyError
from logsegment._options import EntryKeywords, PartitionOptions
from logsegment._validate import ensure_segment
from logsegment.cli.exit_codes import DamagedInput
from logsegment.cli.messages import say
from logsegment.cli.paths import STDIN, LogPaths
from logsegment.inputs.input_segment import InputSegment, found_of, input_of
from logsegment.segment_files.discovery import found_in, is_noted, replica_text
from logsegment.segment_files.log_start import RULES

#: Findings about files that are not read that are shown.
NOTES = 20


def sources_of(paths: Sequence[str]) -> list[Any]:
    """Return the sources that the paths name: the paths, and the file object of standard input."""
    return [sys.stdin.buffer if path == STDIN else path for path in paths]


def segments_of(
    logs: LogPaths,
    left_out: list[Finding] | None = None,
    failed: Callable[[OSError | SegmentKeyError], None] | None = None,
    noted: list[Finding] | None = None,
    *,
    quiet: bool = False,
) -> list[InputSegment]:
    """Return the segments that the paths name, as `found_in` does; standard input has its place among them.

    Args:
        logs: the arguments of the verb.
        left_out: gets the findings about files that are not read; without it, those about missing offsets and interrupted work are shown.
        failed: gets the error of each path that cannot be read, instead of raising it.
        noted: gets the findings about partitions, which are shown as well.
        quiet: of these, findings that are only information are not shown.

    Raises:
        OSError: when a path does not exist, a directory cannot be listed or holds no segments.
        click.UsageError: if no segment is of the topic and partition that --topic and --partition name, or a partition is in several
            directories and --replica, which a verb may have, chooses none of them.
    """
    skipped: list[Finding] = []
    found: list[InputSegment] = []
    for is_piped, group in groupby(logs.paths, lambda path: path == STDIN):
        if is_piped:
            found.append(InputSegment(STDIN, stream=sys.stdin.buffer))
            continue
        files, findings = found_in(list(group), failed=failed, options=None)
        found += map(input_of, files)
        skipped += findings
    segments = _selected(found, skipped, logs)
    if left_out is None:
        show_notes(skipped, quiet=quiet)
    else:
        left_out += skipped
    options = logs.partition_options
    notes = list(filter(is_noted, skipped))
    if options is not None:
        segments, of_starts = _from_log_start(segments, options)
        show_log_starts(of_starts, quiet=quiet)
        notes += of_starts
    if noted is not None:
        noted += notes
    return segments


def below_text(below: int) -> str:
    """Return a remark about records below log start offsets that an output does not have."""
    return f" ({below:,} below the log start offset)" if below else ""


def show_log_starts(findings: Iterable[Finding], *, quiet: bool) -> None:
    """Show those of the findings that are about log start offsets, unless the verb is quiet."""
    if not quiet:
        show_gaps(finding for finding in findings if finding.rule in RULES)


def _from_log_start(segments: list[InputSegment], options: PartitionOptions) -> tuple[list[InputSegment], list[Finding]]:
    """Return the inputs with the log start offsets of their partitions, and the findings about these offsets."""
    files, findings = found_of(segments).with_log_starts(options)
    placed = iter(files)
    starting = [segment if segment.file is None else replace(segment, file=next(placed)) for segment in segments]
    return starting, [*findings, *FoundSegments(files).deleted_records()]


def show_notes(findings: Iterable[Finding], *, quiet: bool) -> None:
    """Show the findings of what is not read that each read reports; with --quiet not those that are only information."""
    notes = [finding for finding in findings if is_noted(finding) and not (quiet and finding.severity == "info")]
    show_gaps(notes[:NOTES])
    if len(notes) > NOTES:
        say(f"and {len(notes) - NOTES:,} more files are not read; `logsegment verify` lists them")


def show_gaps(findings: Iterable[Finding]) -> None:
    """Show findings of files, such as uploads of tiered storage that are not read although no other upload has their offsets."""
    for finding in findings:
        say(f"{finding.path.rpartition('@')[0]}: {finding.severity} [{finding.rule}]: {finding.message}")


@contextlib.contextmanager
def choosing_replicas() -> Iterator[None]:
    """Raise a usage error that names --replica for a partition in several directories.

    Raises:
        click.UsageError: for a `ReplicaError`.
    """
    try:
        yield
    except ReplicaError as error:
        raise click.UsageError(replica_text(error, "--replica")) from None


def ensure_segments(segments: Iterable[InputSegment], reading: EntryKeywords) -> None:
    """Fail for a file that was named, has no valid batch and looks like another kind of file; for verbs that go on past damage.

    Raises:
        DamagedInput: for the first such file.
    """
    for segment in segments:
        if segment.is_listed or segment.file is None or not segment.is_regular:
            continue
        try:
            ensure_segment(segment.file, reading)
        except RecordBatchError as error:
            raise DamagedInput(segment.name, error) from None


def _selected(found: list[InputSegment], left_out: list[Finding], logs: LogPaths) -> list[InputSegment]:
    """Return the segments of the topic and partition that --topic and --partition name, and of the directories that --replica names.

    Args:
        found: all that the paths name.
        left_out: the findings of what is not read; those of other partitions are removed.
        logs: the arguments of the verb.

    Raises:
        click.UsageError: if there are none, or --replica is needed.
    """
    topic, partition, options = logs.topic, logs.partition, logs.replica_options
    if topic is None and partition is None and options is None:
        return found
    by_path = {segment.path: segment for segment in found if segment.file is not None}
    every = [segment.file for segment in by_path.values() if segment.file is not None]
    try:
        files = FoundSegments(every).of_partition(topic, partition) if by_path else []
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    is_named = any(file.topic is not None for file in every)
    if options is not None:
        with choosing_replicas():
            kept = ReplicaChoice(options).of(files if is_named else every)
        files = kept if is_named else files
    left_out[:] = FoundSegments(files, left_out).findings_among(every if topic is None and partition is None else None)
    if topic is None and partition is None:
        chosen = {file.path for file in files}
        return [segment for segment in found if segment.file is None or segment.path in chosen]
    piped = [replace(segment, given=(topic, partition)) for segment in found if segment.file is None]
    return [*piped, *(replace(by_path[file.path], file=file) for file in files)]
