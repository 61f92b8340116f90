"""What `verify` says about one file: words and a table for people, or JSON lines."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from logsegment._core import Finding
from logsegment._validate import Report, Why, is_unopened, why
from logsegment.cli.messages import count, show_json, show_json_lines
from logsegment.cli.output.findings import folded, more_like_it
from logsegment.cli.output.text import Paper
from logsegment.cli.verify_survey import Intact, Lost, Survey
from logsegment.log.faults import SWALLOWED, TORN

#: Findings, runs and places of a file that people are shown; JSON lines have all.
SHOWN = 20
_REASONS: dict[Why, str] = {
    "wanting": "for want of a plugin",
    "failed": "for a plugin that failed",
    "experimental": "of the experimental format v3 (--experimental reads them)",
}
#: Rules of tiered storage: what breaks them was an upload, and says why nothing is read of it.
TIERED = "TS-"
STYLES = {"clean": "green", "readable": "yellow", "unopened": "yellow", "damaged": "bold red"}


@dataclass(frozen=True)
class Verdict:
    """A validated file. The survey is None for a stream, which cannot be looked at twice, and for the files beside logs."""

    name: str
    report: Report
    survey: Survey | None
    is_beside: bool = False

    @cached_property
    def counts(self) -> dict[str, int]:
        """Findings by severity."""
        return self.report.counts

    @cached_property
    def unopened(self) -> int:
        """Batches that nobody looked into, for want of a plugin or of the switch of v3: errors, and no damage."""
        return len(self.report.unopened)

    @property
    def state(self) -> str:
        """`clean`, `readable` (warnings), `unopened` (all that is wrong is that nobody looked into some batches) or `damaged` (errors)."""
        if self.counts["error"]:
            return "damaged" if self.counts["error"] > self.unopened else "unopened"
        return "readable" if self.counts["warning"] else "clean"

    @property
    def is_cut_short(self) -> bool:
        """True when the end of it is lost, which no read raises an error for."""
        return any(finding.rule == TORN and finding.severity == "warning" for finding in self.report.findings)

    @property
    def batches(self) -> int:
        """Batches that are intact."""
        return self.survey.batches if self.survey and self.survey.is_complete else self.report.io_stats["entries_read"]

    @property
    def records(self) -> int | None:
        """Records of these; None when nobody counted them."""
        if self.survey and self.survey.is_complete:
            return self.survey.records
        return self.report.io_stats["records"] or None


def write_words(verdict: Verdict, paper: Paper) -> None:
    """Say it in words; findings follow as a table."""
    paper.line(f"{verdict.name}: {_headline(verdict)}", STYLES[verdict.state])
    if verdict.state == "damaged" or (verdict.survey and verdict.survey.lost):
        for line in _damage(verdict):
            paper.line(f"  {line}")
    for line in _ends(verdict.report.findings):
        paper.line(f"  {line}")
    findings = folded(verdict.report.findings)
    if findings:
        paper.table(("severity", "rule", "byte", "offset", "what"), [_row(*finding) for finding in findings[:SHOWN]])
    if len(findings) > SHOWN:
        paper.line(f"  and {count(len(findings) - SHOWN, 'finding')} more; --json has all of them")


def write_json(verdict: Verdict) -> None:
    """A line for each finding, then one for the file."""
    constants = [("type", "finding"), ("file", verdict.name)]
    for batch in verdict.report.to_arrow().to_batches():
        show_json_lines(batch.to_jsonl(constants=constants))
    show_json(_summary(verdict))


def _summary(verdict: Verdict) -> dict[str, Any]:
    survey = verdict.survey
    is_known = survey is not None and survey.is_complete
    return {
        "type": "summary",
        "file": verdict.name,
        "state": verdict.state,
        "ok": verdict.report.ok,
        **{f"{severity}s" if severity != "info" else "infos": number for severity, number in verdict.counts.items()},
        "unopened": verdict.unopened,
        "batches": verdict.batches,
        "records": verdict.records,
        "bytesRead": verdict.report.io_stats["bytes_read"],
        "bytesInflated": verdict.report.io_stats["bytes_inflated"],
        "safe": [_camel(asdict(run)) for run in survey.intact] if survey and is_known else None,
        "lost": [_camel(asdict(place)) for place in survey.lost] if survey else None,
    }


def _headline(verdict: Verdict) -> str:
    if verdict.is_beside:
        return f"files beside the logs, {count(len(verdict.report.findings), 'finding')}"
    whole = count(verdict.batches, "batch")
    whole += f" with {count(verdict.records, 'record')}" if verdict.records is not None else ""
    whole += _offsets(verdict.survey.intact) if verdict.survey and verdict.survey.intact else ""
    if verdict.state == "damaged":
        return f"DAMAGED, {count(verdict.counts['error'] - verdict.unopened, 'error')}. Intact: {whole}"
    if verdict.state == "unopened":
        return f"NOT UNPACKED, {_unopened(verdict.report.unopened)}; no damage found. Intact: {whole}"
    if verdict.state == "readable" and verdict.survey and verdict.survey.lost:
        hides = any(finding.rule == SWALLOWED for finding in verdict.report.findings)
        return f"{'HIDES DATA' if hides else 'CUT SHORT'}, {count(verdict.counts['warning'], 'warning')}. Intact: {whole}"
    if verdict.state == "readable":
        return f"readable, {count(verdict.counts['warning'], 'warning')}. {whole}"
    return f"clean. {whole}"


def _unopened(findings: Sequence[Finding]) -> str:
    batches = Counter(map(why, findings))
    return ", ".join(f"{count(batches[reason], 'batch')} {words}" for reason, words in _REASONS.items() if batches[reason])


def _offsets(runs: list[Intact]) -> str:
    first, last = min(run.first_offset for run in runs), max(run.last_offset for run in runs)
    return f", offsets {first:,} to {last:,}" if len(runs) == 1 else f", offsets between {first:,} and {last:,}"


def _damage(verdict: Verdict) -> Iterable[str]:
    survey = verdict.survey
    if survey is None:
        yield "Which offsets are safe is told for files only: this was a stream, and is gone."
        return
    doubtful = sum(map(is_unopened, verdict.report.findings)) - verdict.unopened
    if doubtful:
        yield f"Of {count(doubtful, 'batch')} the plugin failed: with --no-crc nobody knows whether they are damaged."
    if survey.lost:
        yield f"Lost: {count(survey.lost_bytes, 'byte')} in {count(len(survey.lost), 'place')}"
    yield from _shown([_place(place) for place in survey.lost], "place")
    if not survey.is_complete:
        yield "Too many places to list what is safe between them; cat --on-error skip reads all of it."
    elif survey.intact:
        yield "Safe offsets:"
        yield from _shown([f"{run.first_offset:,} to {run.last_offset:,} ({count(run.batches, 'batch')})" for run in survey.intact], "run")
    elif not doubtful and not any(one.rule.startswith(TIERED) for one in verdict.report.findings):
        yield "No batch is intact. Is this a log segment at all?"


def _ends(findings: Sequence[Finding]) -> Iterable[str]:
    """What an end means that is no error."""
    for finding in findings:
        if finding.rule == TORN and finding.severity == "warning":
            size = count(finding.length, "byte")
            yield f"It ends with {size} of an unfinished batch, and another segment follows: the copy is incomplete."
        elif finding.rule == TORN and finding.severity == "info" and not finding.position:
            yield "No batch is whole. Is this a log segment at all?"
        elif finding.rule == TORN and finding.severity == "info":
            size = count(finding.length, "byte")
            yield f"It ends with {size} of an unfinished batch: usual while a broker writes the file, otherwise the copy is incomplete."
        elif finding.rule == SWALLOWED:
            yield f"The length at byte {finding.position:,} is a lie at which readers end, without an error; cat --on-error skip reads on."


def _place(place: Lost) -> str:
    where = f"bytes {place.position:,} to {place.position + place.length - 1:,}"
    if place.after_offset is not None and place.before_offset is not None:
        return f"{where}: what stood between offsets {place.after_offset:,} and {place.before_offset:,}"
    if place.after_offset is not None:
        return f"{where}: what stood after offset {place.after_offset:,}"
    if place.before_offset is not None:
        return f"{where}: what stood before offset {place.before_offset:,}"
    return f"{where}: no intact batch tells which offsets stood there"


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
    file = f"{os.path.basename(path)}: " if at and not finding.path.startswith("entry@") else ""
    return (finding.severity, finding.rule, str(finding.position), offset, f"{file}{record}{finding.message}{where}{more_like_it(batches)}")


def _camel(fields: dict[str, Any]) -> dict[str, Any]:
    def camel(name: str) -> str:
        first, *rest = name.split("_")
        return first + "".join(part.capitalize() for part in rest)

    return {camel(name): value for name, value in fields.items()}
