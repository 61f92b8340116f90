"""The account of all bytes, as `split` and `join` print it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import groupby

import click

from logsegment import Arrangement, SegmentPart
from logsegment.cli.exit_codes import CLEAN
from logsegment.cli.messages import count, say, show_json
from logsegment.cli.paths import STDIN

#: Advice about a damaged source.
ADVICE = "nothing was written; `logsegment salvage` saves the valid batches"
#: Most new segments that are listed.
_MOST_SEGMENTS = 10


def ensure_paths(paths: Sequence[str], output: str) -> None:
    """Refuse standard input and standard output.

    Raises:
        click.UsageError: if one of the paths is `-`.
    """
    if STDIN in (*paths, output):
        raise click.UsageError("segments are read and written by position: name files or directories, not -")


def print_account(done: Arrangement, output: str, *, is_json: bool, quiet: bool) -> int:
    """Print where every byte went."""
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


def _segments(parts: Sequence[SegmentPart], output: str) -> Iterator[str]:
    """Yield a line for each new segment, of the first ones if there are many."""
    for number, (path, own) in enumerate(groupby((part for part in parts if part.output is not None), lambda part: part.output)):
        if number == _MOST_SEGMENTS:
            left = len({part.output for part in parts} - {None}) - number
            yield f"and {count(left, 'more segment')}; --json names all"
            return
        held = list(own)
        name = os.path.relpath(path, output) if path != output else path
        yield f"{name}: offsets {held[0].first_offset:,} to {held[-1].last_offset:,}, {count(sum(part.entries for part in held), 'batch')}"
