"""Print the verdict about a validated file: its state, the damage with its place, and the safe offsets."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from logsegment import Finding, LostRange, Report, SafeRange
from logsegment.cli.exit_codes import quirk_options
from logsegment.cli.messages import Console, count, show_json, show_json_lines
from logsegment.cli.output.findings import folded, more_like_it

#: Findings, runs and places of a file that people are shown; JSON lines have all.
SHOWN = 20
_REASONS: dict[str, str] = {
    "missing_plugin": "without their plugin",
    "failed": "since their plugin failed",
    "limit": "over a limit",
    "dictionary": "without their zstd dictionary",
    "format": "of magic 3 (--format v3 reads them)",
}
#: Rules of tiered storage: what breaks them was an upload, and says why nothing is read of it.
TIERED = "TS-"
#: The rules of an entry that is not complete, of a closed segment that ends inside one, and of one that hides valid entries.
TORN, UNFINISHED, SWALLOWED = "L8-14", "SEG-23", "SWALLOWED"
_OVER_LIMIT = re.compile(r"over the limit (\w+) = (\d+)")
STYLES = {"clean": "green", "readable": "yellow", "undecompressed": "yellow", "damaged": "bold red"}


def write_words(report: Report, paper: Console) -> None:
    """Say it in words; findings follow as a table."""
    paper.line(f"{report.path}: {_headline(report)}", STYLES[report.state])
    if report.state == "damaged" or (report.survey and report.survey.lost):
        for line in _damage(report):
            paper.line(f"  {line}")
    for line in _ends(report.findings):
        paper.line(f"  {line}")
    findings = folded(report.findings)
    if findings:
        paper.table(("severity", "rule", "byte", "offset", "what"), [_row(*finding) for finding in findings[:SHOWN]])
    if len(findings) > SHOWN:
        paper.line(f"  and {count(len(findings) - SHOWN, 'finding')} more; --json has all of them")


def write_json(report: Report) -> None:
    """Write a line for each finding, then one for the file."""
    constants = [("type", "finding"), ("file", report.path or "")]
    for batch in report.to_arrow().to_batches():
        show_json_lines(batch.to_jsonl(constants=constants))
    show_json(_summary(report))


def _summary(report: Report) -> dict[str, Any]:
    survey = report.survey
    is_known = survey is not None and survey.is_complete
    return {
        "type": "summary",
        "file": report.path,
        "state": report.state,
        "ok": report.ok,
        **{f"{severity}s" if severity != "info" else "infos": number for severity, number in report.counts.items()},
        "undecompressed": len(report.undecompressed),
        "batches": report.batches,
        "records": report.records,
        "bytesRead": report.io_stats["bytes_read"],
        "bytesInflated": report.io_stats["bytes_inflated"],
        "safe": [run.to_dict() for run in survey.valid] if survey and is_known else None,
        "lost": [place.to_dict() for place in report.lost],
    }


def _headline(report: Report) -> str:
    if report.is_of_directory:
        return report.title or f"sidecar files, {count(len(report.findings), 'finding')}"
    whole = count(report.batches, "batch")
    whole += f" with {count(report.records, 'record')}" if report.records is not None else ""
    whole += _offsets(report.survey.valid) if report.survey and report.survey.valid else ""
    if _is_foreign(report):
        return "NOT A LOG SEGMENT"
    if report.state == "damaged":
        unread = f"; {_undecompressed(report.undecompressed)}" if len(report.undecompressed) else ""
        return f"DAMAGED, {count(report.errors, 'error')}{unread}. Valid: {whole}"
    if report.state == "undecompressed":
        return f"{_undecompressed(report.undecompressed)}; no damage found. Valid: {whole}"
    if report.state == "readable" and report.survey and report.survey.lost:
        return f"HIDES DATA, {count(report.counts['warning'], 'warning')}. Valid: {whole}"
    if report.state == "readable":
        return f"readable, {count(report.counts['warning'], 'warning')}. {whole}"
    return f"clean. {whole}"


def _is_foreign(report: Report) -> bool:
    """Return True for a file that looks like another kind of file."""
    return any(finding.rule == "SEG-16" for finding in report.findings)


def _undecompressed(findings: Sequence[Finding]) -> str:
    """Return why batches were not opened, with the value of each limit."""
    limits = Counter(_limit_of(finding) for finding in findings if finding.unopened == "limit")
    texts = [
        f"not read: over the limit {limit}" + (f" ({count(batches, 'batch')})" if batches > 1 else "") for limit, batches in limits.items()
    ]
    reasons: Counter[str | None] = Counter(finding.unopened for finding in findings if finding.unopened not in ("limit", "quirk"))
    quirks = Counter(quirk_options(finding) for finding in findings if finding.unopened == "quirk")
    texts += [f"{count(batches, 'batch')} readable with {options}" for options, batches in quirks.items()]
    others = ", ".join(f"{count(reasons[reason], 'batch')} {words}" for reason, words in _REASONS.items() if reasons[reason])
    return "; ".join([*texts, *([f"NOT DECOMPRESSED, {others}"] if others else [])])


def _limit_of(finding: Finding) -> str:
    """Return the limit that a batch is over, with its value: `max_ratio 40,000`."""
    found = _OVER_LIMIT.search(finding.message)
    return f"{found[1]} {int(found[2]):,}" if found else finding.message


def _offsets(runs: list[SafeRange]) -> str:
    first, last = min(run.first_offset for run in runs), max(run.last_offset for run in runs)
    return f", offsets {first:,} to {last:,}" if len(runs) == 1 else f", offsets between {first:,} and {last:,}"


def _damage(report: Report) -> Iterable[str]:
    survey = report.survey
    if _is_foreign(report) or report.is_of_directory:
        return
    if survey is None:
        yield "Safe offsets are listed for files only; this input was a stream."
        return
    doubtful = sum(finding.unopened is not None for finding in report.findings) - len(report.undecompressed)
    if doubtful:
        yield f"The plugin failed for {count(doubtful, 'batch')}; --no-crc skipped their checksums, so they may be damaged."
    if survey.lost:
        yield f"Lost: {count(survey.lost_bytes, 'byte')} in {count(len(survey.lost), 'place')}"
    yield from _shown([_place(place) for place in survey.lost], "place")
    if not survey.is_complete:
        yield "Too many damaged places to list the safe offsets; cat --on-error skip reads them."
    elif survey.valid:
        yield "Safe offsets:"
        yield from _shown([f"{run.first_offset:,} to {run.last_offset:,} ({count(run.batches, 'batch')})" for run in survey.valid], "run")
    elif not doubtful and not any(finding.rule.startswith(TIERED) for finding in report.findings):
        yield "No batch is valid. Is this a log segment?"


def _ends(findings: Sequence[Finding]) -> Iterable[str]:
    """Yield what an end means that is no error."""
    for finding in findings:
        if finding.rule == UNFINISHED:
            yield "Another segment follows, so this one was complete: the copy ended early, or its end is damaged."
        elif finding.rule == TORN and finding.severity == "info" and not finding.position:
            yield "No batch is complete. Is this a log segment?"
        elif finding.rule == TORN and finding.severity == "info":
            size = count(finding.length, "byte")
            yield f"It ends with {size} of an unfinished batch: usual while a broker writes the file, otherwise the copy is incomplete."
        elif finding.rule == SWALLOWED:
            yield f"The length at byte {finding.position:,} is wrong; readers end there without an error, cat --on-error skip continues."


def _place(place: LostRange) -> str:
    where = f"bytes {place.position:,} to {place.position + place.length - 1:,}"
    if place.after_offset is not None and place.before_offset is not None:
        return f"{where}: records between offsets {place.after_offset:,} and {place.before_offset:,}"
    if place.after_offset is not None:
        return f"{where}: records after offset {place.after_offset:,}"
    if place.before_offset is not None:
        return f"{where}: records before offset {place.before_offset:,}"
    return f"{where}: unknown offsets, since no valid batch is near"


def _shown(lines: list[str], noun: str) -> Iterable[str]:
    yield from (f"  {line}" for line in lines[:SHOWN])
    if len(lines) > SHOWN:
        yield f"  and {count(len(lines) - SHOWN, noun)} more; --json has all of them"


def _row(finding: Finding, batches: int = 1) -> tuple[str, ...]:
    offset = "-" if finding.base_offset is None else str(finding.base_offset)
    where = f" ({finding.field})" if finding.field else ""
    record = f"record {finding.record_index}: " if finding.record_index is not None else ""
    # Findings of several files name theirs.
    path, at, _ = finding.path.rpartition("@")
    file = f"{os.path.basename(path.removesuffix('/entry'))}: " if at and not finding.path.startswith("entry@") else ""
    return (finding.severity, finding.rule, str(finding.position), offset, f"{file}{record}{finding.message}{where}{more_like_it(batches)}")
