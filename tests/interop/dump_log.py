"""What `kafka-dump-log --deep-iteration --print-data-log` prints, as facts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

BATCH = re.compile(r"^(?:baseOffset|offset): (-?\d+) .*?\bisvalid: (true|false)")
RECORD = re.compile(r"^\| offset: (-?\d+) .*?\bkey[sS]ize: (-?\d+) value[sS]ize: (-?\d+)\b")
#: Lines that say that something is wrong.
COMPLAINT = re.compile(r"(?i)(found invalid|mismatch|non-consecutive|corrupt|exception|not .*valid bytes|\bERROR\b)")


@dataclass
class Dump:
    """Batches as (first offset, valid), records as (offset, key size, value size; -1 is null), and lines that complain."""

    batches: list[tuple[int, bool]] = field(default_factory=list)
    records: list[tuple[int, int, int]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def parsed(text: str) -> Dump:
    dump = Dump()
    for line in text.splitlines():
        if found := BATCH.match(line):
            dump.batches.append((int(found[1]), found[2] == "true"))
        elif found := RECORD.match(line):
            dump.records.append((int(found[1]), int(found[2]), int(found[3])))
        elif COMPLAINT.search(line):
            dump.complaints.append(line)
    return dump
