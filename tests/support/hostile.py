"""Hostile cases: batches damaged in one named way, what Kafka says to each, and what we say.

`observe` is the one way to look at a case: `tests/tools/build_outcomes.py` writes down what it sees, `test_hostile.py` compares.
Run as a program it observes cases in a process of its own, under limits of memory and processor time, and prints JSON lines.
"""

from __future__ import annotations

import gzip
import json
import resource
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import corpus
import logsegment as ls

HOSTILE = corpus.TESTS / "hostile"
OUTCOMES = HOSTILE / "outcomes.json"
Row = dict[str, Any]


@dataclass(frozen=True)
class HostileCase:
    """One damaged file. `kafka` is the class that Kafka 4.1.0 throws first, or "ok"; `stages` is what each of its stages did."""

    name: str
    path: Path
    damage: str
    #: For files of 0.7 the class that Kafka 0.7.2 throws.
    kafka: str
    stages: Row
    truth: Path | None
    sha256: str
    #: "0.7" where the bytes do not say it, else "auto".
    format: str
    magics: tuple[int, ...] | None

    @property
    def formats(self) -> frozenset[str]:
        """Formats of its entries; nobody listed those of the bombs."""
        magics = self.magics if self.magics is not None else [1 if "-v1-" in self.name else 2]
        return corpus.formats_of(self.format, magics)

    @property
    def options(self) -> Row:
        """What a reader must be told besides the bytes."""
        return {"format": self.format} if self.format == "0.7" else {}

    @property
    def is_bomb(self) -> bool:
        """Small when stored, more than the default limits when unpacked."""
        return self.path.suffix == ".gz"

    def read(self) -> bytes:
        data = self.path.read_bytes()
        return gzip.decompress(data) if self.is_bomb else data

    def __str__(self) -> str:
        return self.name


@cache
def cases() -> tuple[HostileCase, ...]:
    """Every case of the manifest."""
    return tuple(map(case_of, manifest()["cases"]))


@cache
def manifest() -> Row:
    return json.loads((HOSTILE / "manifest.json").read_text())


@cache
def outcomes() -> dict[str, Row]:
    """The checked-in table: case -> outcome."""
    return json.loads(OUTCOMES.read_text())["outcomes"] if OUTCOMES.exists() else {}


def explained(page: Path) -> set[str]:
    """The cases that a page about a format names as deviations."""
    section = page.read_text(encoding="utf-8").partition("## Where logsegment deviates from Kafka")[2]
    return {case.name for case in cases() if f"`{case.name}`" in section}


def page_of(case: HostileCase) -> str:
    """The page about the format of a case."""
    pages = {"0.7": "kafka-0.7.md", "v0": "v0-v1.md", "v1": "v0-v1.md"}
    (page,) = {pages.get(name, "v2.md") for name in case.formats or {"v2"}}
    return page


def case_of(line: Row) -> HostileCase:
    return HostileCase(
        name=line["case"],
        path=HOSTILE / line["file"],
        damage=line["damage"],
        kafka=line["expected"].rpartition(".")[2],
        stages=line["kafka"],
        truth=HOSTILE / line["truth"] if line.get("truth") else None,
        sha256=line["sha256"],
        format=line["format"],
        magics=None if line.get("magics") is None else tuple(line["magics"]),
    )


def observe(data: bytes, **options: Any) -> Row:
    """What we make of some bytes: how `decode` ends, what `validate` finds, how many records `on_error="skip"` gives."""
    records, error = drain(ls.decode(data, columns=["offset"], control=True, **options))
    report = ls.validate(data, **options)
    kept, never = drain(ls.decode(data, columns=["offset"], control=True, on_error="skip", unreadable="skip", **options))
    assert never is None, "on_error='skip' raised"
    severities = {finding.severity for finding in report.findings}
    return {
        "outcome": "error" if error else "warning" if "warning" in severities else "clean",
        "records": records,
        "error": error and error_row(error),
        # That magic 3 is a proposal is information about all of its files.
        "findings": [finding_text(finding) for finding in report.findings if finding.rule != "EXPERIMENTAL"],
        "kept": kept,
    }


def drain(stream: ls.RecordStream) -> tuple[int, ls.RecordBatchError | None]:
    """Rows that a stream gave, and what ended it."""
    rows = 0
    try:
        for batch in stream:
            rows += batch.num_rows
    except ls.RecordBatchError as error:
        return rows, error
    return rows, None


def error_row(error: ls.RecordBatchError) -> Row:
    fields = ("code", "rule", "kafka_error_code", "position", "base_offset", "record_index", "field")
    return {"class": type(error).__name__} | {field: getattr(error, field) for field in fields}


def finding_text(finding: ls.Finding) -> str:
    """Severity, rule, bytes, and the record and field when there are any."""
    parts = [finding.severity, finding.rule, f"{finding.position}+{finding.length}"]
    if finding.record_index is not None:
        parts.append(f"record {finding.record_index}")
    return " ".join([*parts, *([finding.field] if finding.field else [])])


def observe_bounded(names: list[str], address_space: int, seconds: int) -> None:
    """Observe under limits: `address_space` bytes more than this process has now, `seconds` of processor time for all."""
    wanted = [case for case in cases() if case.name in names]
    read = [(case, case.read()) for case in wanted]
    ls.validate(b"")
    bound_memory(address_space)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    for case, data in read:
        print(json.dumps({case.name: observe(data, **case.options)}), flush=True)


def bound_memory(address_space: int) -> None:
    """Let this process get only so many bytes more than it has now (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    bound = pages * resource.getpagesize() + address_space
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))


if __name__ == "__main__":
    observe_bounded(json.loads(sys.stdin.read()), int(sys.argv[1]), int(sys.argv[2]))
