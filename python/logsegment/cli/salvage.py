"""`logsegment salvage`: valid entries into a new file or directory, and an account of the rest."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import click

from logsegment import Finding, LostRange, Salvage
from logsegment import salvage as salvage_source
from logsegment._options import Order
from logsegment.cli.arguments import VerbOption
from logsegment.cli.exit_codes import CLEAN, LOST, UNREADABLE, handle_exit, input_errors, quirk_options, words_of
from logsegment.cli.help import Verb
from logsegment.cli.messages import count, say, show_json
from logsegment.cli.options import Overwrite, Quiet, Reading, bind_args, examples
from logsegment.cli.output.progress import Progress
from logsegment.cli.paths import STDIN, LogPaths
from logsegment.tiered import SegmentKeyError

#: The beginning of the rules of tiered storage, whose findings name offsets that no bytes have.
_TIERED = "TS-"
#: Rules about the names of segments, which the text shows.
_SHOWN_RULES = ("SEG-1", "SEG-22")
#: The rule of findings about work that a broker did not finish, and the beginning of that of a file of a swap that is read.
WORK = "SEG-17"
_TAKEN = "read in place of other segments:"
#: Places of a file that the text lists; JSON lines have all.
SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class SalvageArguments(LogPaths):
    """The arguments of `salvage`."""

    output: Annotated[str, VerbOption("Write a new file (- is stdout), or for directories a new directory.", "-o --output PATH")]
    overwrite: Overwrite
    aside: Annotated[
        str | None,
        VerbOption(
            "Write readable records of damaged batches, and entries with misplaced offsets, to this new file or directory.", "--aside PATH"
        ),
    ]
    order: Annotated[
        Order,
        VerbOption(
            "Write a sorted log without copies, for a broker (offset), or every valid entry in input order (input).",
            "--order",
        ),
    ] = "offset"
    reading: Reading
    is_json: Annotated[bool, VerbOption("Print JSON lines: findings, and an account of each file.", "--json")]
    quiet: Quiet


@click.command(
    cls=Verb,
    short_help="Copy the valid entries of damaged segments into a new file or directory.",
    epilog=examples(
        "logsegment salvage /backup/orders-0 --output saved",
        "logsegment salvage damaged.log --output saved.log --aside aside.log",
        "logsegment salvage - --order input --output - < damaged.log > saved.log",
    ),
)
@handle_exit
@bind_args(SalvageArguments)
def salvage(options: SalvageArguments) -> int:
    """Copy the valid entries of PATH, byte for byte, and account for every other byte.

    A directory becomes a directory with the same names, with rebuilt indexes, snapshots and epochs, on which a broker starts. If a
    segment's name contradicts its offsets, the segment is renamed. Of a partition in several directories each is saved, under its own
    path. The output appears when it is complete, inputs are never changed.

    Batches of the proposed format v3 are kept with --format v3; without it nothing is written.

    A batch with a matching checksum whose records cannot be read is kept, named and counts as a loss.

    Exit codes: 0 nothing lost, 1 batches of v3 without --format v3, 2 usage or unreadable input, 3 finished with losses.
    """
    if options.is_json and options.output == STDIN:
        raise click.UsageError("--json writes to standard output, which is already the output")
    try:
        with SalvageProgress(options) as progress, input_errors():
            found = salvage_source(
                options.sources,
                out=sys.stdout.buffer if options.output == STDIN else options.output,
                aside=options.aside,
                overwrite=options.overwrite,
                order=options.order,
                observer=progress,
                **options.selected,
                **options.reading,
            )
    except SegmentKeyError as error:
        say(words_of(error))
        say("nothing was written; pass the keys of all segments, or a PATH of segments that the keys open")
        return UNREADABLE
    if options.output != STDIN and not options.quiet:
        say(f"wrote {count(len(found.outputs), 'segment')} to {options.output}")
    if options.aside is not None and not found.aside_bytes and not options.quiet:
        say(f"no entry for --aside: {options.aside} {'is empty' if os.path.lexists(options.aside) else 'was not made'}")
    return CLEAN if found.ok else LOST


class SalvageProgress(Progress):
    """Prints the account of each file."""

    def __init__(self, options: SalvageArguments) -> None:
        super().__init__(quiet=options.quiet)
        self._is_json = options.is_json

    def noted(self, findings: Sequence[Finding]) -> None:
        """Print the files that are not read, and the files of completed swaps."""
        for finding in findings:
            path = finding.path.rpartition("@")[0]
            if self._is_json:
                _write_findings(path, [finding])
            elif finding.message.startswith(_TAKEN):
                say(f"{path}: {finding.message} [{finding.rule}]")
            elif not (self._is_quiet and finding.rule == WORK and finding.severity == "info"):
                say(f"left out: {path}: {finding.message} [{finding.rule}]")

    def done(self, path: str, result: Salvage) -> None:
        """Print the account, unless every byte was kept."""
        with self.aside():
            if self._is_json:
                _write_json(path, result)
            elif not (_is_healthy(result) or (self._is_quiet and result.ok)):
                for line in _lines(path, result):
                    say(line)


def _is_healthy(found: Salvage) -> bool:
    """Return True if every byte was kept, and there are no findings."""
    return not (found.lost or found.findings or found.aside_bytes or found.undecompressed or found.moved)


def _lines(name: str, found: Salvage) -> Iterator[str]:
    kept = f"{name}: kept {count(found.entries, 'entry')}, {count(found.kept_bytes, 'byte')}"
    if found.kept:
        first, last = min(kept.first_offset for kept in found.kept), max(kept.last_offset for kept in found.kept)
        kept += f", offsets {first:,} to {last:,}"
    yield kept
    unread = [finding for finding in found.findings if finding.rule.startswith(_TIERED) and finding.severity == "error"]
    for finding in unread[:SHOWN]:
        yield f"  {finding.severity} [{finding.rule}]: {finding.message}"
    yield from (f"  {finding.severity} [{finding.rule}]: {finding.message}" for finding in found.findings if finding.rule in _SHOWN_RULES)
    if not found.entries and found.lost_bytes and not found.doubtful and not unread:
        yield "  no entry is valid; is this a log segment?"
    yield from _notes(found)
    for lost in found.lost[:SHOWN]:
        yield f"  left out: {_lost_text(lost)}"
    if len(found.lost) > SHOWN:
        yield f"  and {count(len(found.lost) - SHOWN, 'place')} more; --json has all of them"
    if found.aside_bytes:
        what = [count(found.records, "record") + " of damaged batches"] if found.records else []
        what += [count(found.doubtful, "entry") + " with misplaced offsets"] if found.doubtful else []
        yield f"  aside: {' and '.join(what)}"
    elif found.doubtful:
        yield f"  {count(found.doubtful, 'valid entry')} with misplaced offsets, not written; --aside keeps them"


def _notes(found: Salvage) -> Iterator[str]:
    """Yield lines about kept entries."""
    for finding in found.undecodable[:SHOWN]:
        yield f"  kept, but its records cannot be read: {_place_of(finding)}: {finding.message}"
    if len(found.undecodable) > SHOWN:
        yield f"  and {count(len(found.undecodable) - SHOWN, 'entry')} more; --json has all of them"
    if found.needing_quirks:
        needing = Counter(quirk_options(finding) for finding in found.findings if finding.quirks)
        names = ", or ".join(options for options, _ in needing.most_common())
        yield f"  {count(found.needing_quirks, 'kept entry')} readable with {names}"
    if others := found.undecompressed - found.needing_quirks:
        yield f"  {count(others, 'kept entry')} not opened: a plugin or a dictionary is missing, or a limit is too low"
    if found.moved:
        yield f"  {count(found.moved, 'entry')} of swapped blocks sorted in"


def _place_of(finding: Finding) -> str:
    return f"bytes {finding.position:,} to {finding.position + finding.length - 1:,} [{finding.rule}], offset {finding.base_offset or 0:,}"


def _lost_text(lost: LostRange) -> str:
    where = f"bytes {lost.position:,} to {lost.end - 1:,} [{lost.rule}]"
    missing = lost.missing
    if missing:
        return f"{where}, offsets {missing[0]:,} to {missing[-1]:,} are missing"
    if lost.before_offset is None and lost.after_offset is not None and not lost.is_harmless:
        return f"{where}, everything after offset {lost.after_offset:,}"
    return where


def _write_json(name: str, found: Salvage) -> None:
    _write_findings(name, found.findings)
    show_json({"type": "salvage", "file": name} | found.to_dict())


def _write_findings(name: str, findings: Sequence[Finding]) -> None:
    for finding in findings:
        show_json({"type": "finding", "file": name} | finding.to_dict())
