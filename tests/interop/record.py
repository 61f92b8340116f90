"""The recorded table: `recorded.json` holds what was measured, `docs/reference/compatibility.md` shows it.

`python tests/interop/record.py` writes the page from the record, prints it, and fails if a cell is red.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cells
from cells import CODECS, Made
from differences import DIFFERENCES, JAVA, Listed

HERE = Path(__file__).resolve().parent
RECORD = HERE / "recorded.json"
#: What `test_interop_verdicts.py` saw.
VERDICTS = HERE / "verdicts.json"
PAGE = HERE.parents[1] / "docs" / "reference" / "compatibility.md"
LETTERS = {"none": "n", "gzip": "g", "snappy": "s", "lz4": "l", "zstd": "z"}

TITLES = {"v0": "v0 (magic 0)", "v1": "v1 (magic 1)", "v2": "v2 (magic 2)"}

#: (writer, format, codec, reader) -> (outcome, why)
Results = dict[tuple[str, str, str, str], tuple[str, str]]


def load() -> Results:
    lines = json.loads(RECORD.read_text())["cells"] if RECORD.exists() else []
    return {(writer, kind, codec, reader): (outcome, why) for writer, kind, codec, reader, outcome, why in lines}


def save(results: Results, versions: dict[str, str]) -> None:
    lines = [[*cell, *result] for cell, result in sorted(results.items())]
    body = ",\n".join("  " + json.dumps(line) for line in lines)
    told = json.dumps(versions, sort_keys=True)
    RECORD.write_text(f'{{"versions": {told},\n "cells": [\n{body}\n]}}\n')


def versions() -> dict[str, str]:
    found: dict[str, str] = json.loads(RECORD.read_text())["versions"]
    return found


def save_verdicts(counts: dict[str, list[int]], errors: dict[str, list[str]]) -> None:
    """Of each peer how many verdicts are equal, and of how many; our rules with what Kafka throws."""
    lines = ",\n".join(f"  {json.dumps(rule)}: {json.dumps(thrown)}" for rule, thrown in errors.items())
    VERDICTS.write_text(f'{{"counts": {json.dumps(counts)},\n "errors": {{\n{lines}\n}}}}\n')


def verdicts() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(VERDICTS.read_text())
    return found


def verdict_tables() -> str:
    """How many verdicts are equal, and every difference that is listed."""
    lines = ["| | inputs | same verdict, same records | listed below |", "| --- | --: | --: | --: |"]
    for name, (equal, total) in verdicts()["counts"].items():
        lines.append(f"| {'Kafka ' if name in JAVA else ''}{name} | {total:,} | {equal:,} | {total - equal:,} |")
    lines += ["", "| who | logsegment | they | why |", "| --- | --- | --- | --- |"]
    listed = [f"| {', '.join(line.peers)} | {words(line.ours)} | {theirs(line)} | {line.reason} |" for line in DIFFERENCES]
    return "\n".join([*lines, *dict.fromkeys(listed)])


def theirs(line: Listed) -> str:
    """What they say; where both read, what is different."""
    return f"reads another {line.what}" if line.ours == line.theirs == "reads" else words(line.theirs)


def words(pattern: str) -> str:
    """A side of a listed difference: "reads", or what is raised."""
    return {"reads": "reads", "*": "any error"}.get(pattern, f"`{pattern.strip(' *')}`")


def page(results: Results) -> str:
    """The whole page."""
    reasons: list[str] = []
    tables = "\n".join(section(kind, results, reasons) for kind in cells.MAGICS)
    counts = {word: sum(outcome == word for outcome, _ in results.values()) for word in ("equal", "explained", "red")}
    notes = "\n".join(f"- [{number}] {reason}" for number, reason in enumerate(reasons, 1)) or "- none"
    clients = ", ".join(f"{name} {version}" for name, version in sorted(versions().items()))
    judged = verdict_tables()
    return PAGE_TEXT.format(
        tables=tables, judged=judged, counts=counts, notes=notes, parties="\n".join(parties()), clients=clients, total=len(results)
    )


def section(kind: str, results: Results, reasons: list[str]) -> str:
    writers = [writer for writer in cells.WRITERS.values() if kind in writer.formats]
    readers = [reader for reader in cells.READERS.values() if kind in reader.formats]
    lines = [f"### {TITLES[kind]}\n", "| written by \\ read by | " + " | ".join(reader.name for reader in readers) + " |"]
    lines.append("| --- |" + " --- |" * len(readers))
    for writer in writers:
        told = [cell(writer, reader, kind, results, reasons) for reader in readers]
        lines.append(f"| {writer.name} | " + " | ".join(told) + " |")
    return "\n".join(lines) + "\n"


def cell(writer: cells.Party, reader: cells.Party, kind: str, results: Results, reasons: list[str]) -> str:
    """One letter for each codec that came back equal, a dot for one that cannot be, a note for one that failed."""
    return " ".join(mark(Made(writer.name, kind, codec), writer, reader, results, reasons) for codec in CODECS)


def mark(made: Made, writer: cells.Party, reader: cells.Party, results: Results, reasons: list[str]) -> str:
    if cells.impossible(writer, made.format, made.codec) or cells.impossible(reader, made.format, made.codec):
        return "\u00b7"
    outcome, why = results.get((made.writer, made.format, made.codec, reader.name), ("red", "not run"))
    letter = LETTERS[made.codec]
    if outcome == "equal":
        return letter
    if outcome != "explained":
        return f"**{letter} RED**"
    if why not in reasons:
        reasons.append(why)
    return f"~~{letter}~~[{reasons.index(why) + 1}]"


def parties() -> Iterator[str]:
    yield "| | writes | reads |"
    yield "| --- | --- | --- |"
    for name in dict.fromkeys([*cells.WRITERS, *cells.READERS]):
        wrote, read = (party[name].note if name in party else "" for party in (cells.WRITERS, cells.READERS))
        yield f"| {name} | {wrote} | {read} |"


def main() -> int:
    results = load()
    text = page(results)
    PAGE.write_text(text)
    print(text)
    return 1 if any(outcome == "red" for outcome, _ in results.values()) else 0


PAGE_TEXT = """# What others write we read, and what we write others read

Made by `make interop`, from `tests/interop/recorded.json`; not edited by hand. Every writer is given the same 70 records (null and empty
keys and values, odd headers, more than one block of each codec, bytes that do not shrink, late timestamps) in three batches; every reader
must give back exactly these: offset, timestamp, its type, key, value, headers, as far as the format holds them. `dump-log` prints
payloads as text, so of it validity, offsets and sizes are compared.

n none, g gzip, s snappy, l lz4, z zstd: came back equal. \u00b7: there is no such cell (a codec or format that the writer or the reader
does not have; zstd is of magic 2 alone). Struck out, with a note: run, and fails for the reason in the note. RED: wrong.

{tables}
Cells: {counts[equal]} equal, {counts[explained]} explained, {counts[red]} red, {total} in all.

Notes:

{notes}

## Results without a row

- LZ4: the classes of 0.8.2.2 and 0.9.0.1 read what we write in magic 0, with the broken header checksum, and refuse the correct one;
  those from 0.10.2.2 to 3.9.1 read either in magic 0 and the correct one alone in magic 1 (`test_interop_lz4.py`).
- Transactions, producers, holes and LogAppendTime that we encoded: a 4.3.1 broker recovers them, and its consumer in both isolation
  levels returns what it should (`test_interop_transactions.py`).
- Kafka 0.7: no package registry has its classes. What we write is compared with bytes that a real 0.7.2 broker stored: byte for byte
  without compression, and inside the wrappers after another library unpacked them (`test_interop_07.py`).

## The same bytes, clean and hostile

`test_interop_verdicts.py` gives the same bytes to Kafka's Java classes, kafka-python and aiokafka: the front of every clean file of
`tests/corpus` (4 KiB of whole entries), every hostile case (`tests/hostile`), and 4,000 seeded mutations of the fronts, half of them
with length and checksum put right, so that what follows the checksum is judged. It compares whether the bytes are read to the end or
refused, the entry that is refused (Kafka), and the records of all entries before it, markers included. A difference that is not listed
here fails the test, and so does a line that no input shows any more. Where both refuse, `tests/interop/verdicts.json` holds which
exceptions of Kafka belong to each of our rules. Header names that are not UTF-8 are compared as text; timestamps that are not there
without their type, which Python's clients report inconsistently.

{judged}

Python's clients run in a process of their own with 1 GiB of memory and 3 s for each input, which does not survive every one: for
`v2-snappy-length-lies` they ask for the gigabytes that it claims.

## Who they are

{parties}

Versions of the packages: {clients}.
"""

if __name__ == "__main__":
    sys.exit(main())
