"""Paths and URIs of the command line to inputs: files, partition directories, trees of them, standard input."""

from __future__ import annotations

from collections.abc import Sequence

from logsegment._options import EntryKeywords, PartitionOptions
from logsegment.cli.exit_codes import input_errors
from logsegment.cli.notes import show_notes
from logsegment.cli.output.progress import Progress
from logsegment.cli.paths import LogPaths
from logsegment.inputs.input_segment import InputSegment
from logsegment.inputs.sources import Inputs, inputs_of


def segments_of(logs: LogPaths, *, quiet: bool = False) -> list[InputSegment]:
    """Return the segments that the arguments of a verb name."""
    selected = logs.selected
    access = selected["storage_options"], selected["decryption_keys"], selected["layout"]
    options = None
    if "replica" in selected:
        options = PartitionOptions(replica=selected["replica"], log_start_offset=selected.get("log_start_offset", "ignore"))
    with input_errors():
        inputs = inputs_of(logs.sources, access, selection=(logs.topic, logs.partition), options=options)
    show_notes([*inputs.findings, *inputs.deleted_records()], quiet=quiet)
    return inputs.segments


def ensure_segments(segments: Sequence[InputSegment], reading: EntryKeywords) -> None:
    """Fail for a file that was named, has no valid batch and looks like another kind of file."""
    with input_errors():
        Inputs(list(segments)).ensure_segments(reading)


def begun(progress: Progress, segments: Sequence[InputSegment]) -> Progress:
    """Start the progress of a verb that reads these segments."""
    progress.planned([(segment.name, segment.size) for segment in segments])
    return progress
