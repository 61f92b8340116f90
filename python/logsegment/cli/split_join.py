"""Share the errors and the account of all bytes between `split` and `join`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

import click

from logsegment._core import RecordBatchError, SegmentKeyError
from logsegment._places import redacted_uri
from logsegment.cli.exit_codes import CLEAN, DamagedInput
from logsegment.cli.inputs import STDIN, choosing_replicas, show_log_starts
from logsegment.cli.messages import count, say, show_json
from logsegment.cli.output.files import say_inputs

#: Most new segments that are listed.
_MOST_SEGMENTS = 10


def print_account(work: Callable[[], Any], paths: Sequence[str], output: str, *, is_json: bool, quiet: bool) -> int:
    """Do the work, and report where every byte went.

    Raises:
        click.UsageError: for arguments that do not fit.
        DamagedInput: if a segment is damaged.
    """
    if STDIN in (*paths, output):
        raise click.UsageError("segments are read and written by position: name files or directories, not -")
    say_inputs(output, paths, quiet=quiet)
    try:
        with choosing_replicas():
            done = work()
    except RecordBatchError as error:
        raise DamagedInput(
            error.path or redacted_uri(paths[0]), error, "nothing was written; `logsegment salvage` saves the valid batches"
        ) from error
    except SegmentKeyError:
        raise
    except (TypeError, ValueError) as mistake:
        raise click.UsageError(str(mistake)) from None
    show_log_starts(done.partition_findings)
    if is_json:
        show_json({"type": "arrangement"} | done.to_dict())
    if not quiet:
        batches = sum(part.entries for part in done.parts if part.output is not None)
        left = sum(part.length for part in done.parts if part.output is None and not part.entries)
        ends = f"; {count(left, 'byte')} after the last batches left out" if left else ""
        ends += f"; {count(done.below_log_start, 'record')} below the log start offset left out" if done.below_log_start else ""
        say(f"wrote {count(len(done.sha256), 'segment')} to {output}: {count(batches, 'batch')}{ends}")
        for line in _segments(done.parts, output):
            say(line)
    return CLEAN


def _segments(parts: Sequence[Any], output: str) -> Iterator[str]:
    """Yield a line for each new segment, of the first ones if there are many."""
    for number, (path, own) in enumerate(groupby((part for part in parts if part.output is not None), lambda part: part.output)):
        if number == _MOST_SEGMENTS:
            left = len({part.output for part in parts} - {None}) - number
            yield f"and {count(left, 'more segment')}; --json names all"
            return
        held = list(own)
        name = os.path.relpath(path, output) if path != output else path
        yield f"{name}: offsets {held[0].first_offset:,} to {held[-1].last_offset:,}, {count(sum(part.entries for part in held), 'batch')}"
