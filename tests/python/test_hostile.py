"""Every hostile case has exactly the outcome of the checked-in table, in bounded memory and time.

Rules: COD-6 (limits), L7-11 to L7-21, L8-8 to L8-34, V2-30 to V2-47, COD-G/S/L/Z, CTL-2, FND-1 to FND-17.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from typing import Any

import pytest

import corpus
import hostile
import logsegment as ls
from every import every
from hostile import HostileCase

CASES = [case for case in hostile.cases() if not case.is_bomb]
BOMBS = [case for case in hostile.cases() if case.is_bomb]
MIB = 1 << 20
#: A zstd window of 128 MiB is allowed (COD-Z4); the rest is the allocator's.
SMALL_CASE_MEMORY = 256 * MIB
#: `max_decompressed_bytes` is 1 GiB; a buffer is moved when it grows, and glibc keeps address space for itself.
BOMB_MEMORY = 1024 * MIB + 512 * MIB

all_cases = every("case", CASES)


def rows_of(case: HostileCase, **options: Any) -> list[corpus.Row]:
    return corpus.rows_of(ls.decode(case.read(), columns=corpus.RECORD_COLUMNS, control=True, **case.options, **options))


def observe_in_a_child(cases: list[HostileCase], memory: int, seconds: int) -> dict[str, corpus.Row]:
    names = json.dumps([case.name for case in cases])
    command = [sys.executable, hostile.__file__, str(memory), str(seconds)]
    child = subprocess.run(command, input=names, capture_output=True, text=True, timeout=seconds * 4, check=False)
    assert child.returncode == 0, f"{child.returncode}: {child.stderr[-2000:]}"
    return {name: row for line in child.stdout.splitlines() for name, row in json.loads(line).items()}


@pytest.fixture(scope="module")
def observed() -> dict[str, corpus.Row]:
    """What every small case gives in a process that can hardly take more memory than it has."""
    return observe_in_a_child(CASES, SMALL_CASE_MEMORY, seconds=30)


def expected(case: HostileCase) -> corpus.Row:
    return {key: value for key, value in hostile.outcomes()[case.name].items() if key not in ("kafka", "deviation")}


def test_the_table_and_the_manifest_name_the_same_cases():
    corpus.seen_all(hostile.cases(), hostile.manifest()["counts"]["cases"])
    corpus.seen_all(hostile.cases(), 464)
    corpus.seen_all(BOMBS, 10)
    assert {case.name for case in hostile.cases()} == set(hostile.outcomes())
    assert all(hostile.outcomes()[case.name]["kafka"] == case.kafka for case in hostile.cases())


@every("case", hostile.cases())
def test_the_bytes_are_those_that_the_manifest_names(case: HostileCase):
    assert hashlib.sha256(case.path.read_bytes()).hexdigest() == case.sha256


@all_cases
def test_outcome_is_the_one_of_the_table(case: HostileCase, observed: dict[str, corpus.Row]):
    assert observed[case.name] == expected(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", BOMBS, ids=str)
def test_bombs_are_refused_within_the_limits(case: HostileCase):
    """COD-6: what unpacks to more than the limits allow takes no more memory than they say."""
    assert observe_in_a_child([case], BOMB_MEMORY, seconds=60)[case.name] == expected(case)


@pytest.mark.parametrize("case", BOMBS, ids=str)
def test_smaller_limits_refuse_bombs_sooner(case: HostileCase):
    """COD-6."""
    limits = ls.Limits(max_decompressed_bytes=MIB, max_records=1000)
    with pytest.raises(ls.LimitError) as raised:
        ls.decode(case.read(), limits=limits, **case.options).read_all()
    assert raised.value.base_offset == (0 if "-v1-" in case.name else 100)


@every("case", hostile.cases())
def test_deviations_from_kafkas_verdict_are_explained(case: HostileCase):
    row = hostile.outcomes()[case.name]
    deviates = (case.kafka == "ok") != (row["error"] is None)
    assert deviates == ("deviation" in row)
    assert len(row.get("deviation", "a line that explains")) > 10


def test_deviations_are_the_ones_that_the_documentation_explains():
    """On the page of the case's format, and only there."""
    pages = sorted((corpus.TESTS.parent / "docs/reference/formats").glob("*.md"))
    deviating = [case for case in hostile.cases() if "deviation" in hostile.outcomes()[case.name]]
    assert {case.name: hostile.page_of(case) for case in deviating} == {
        name: page.name for page in pages for name in hostile.explained(page)
    }


def test_every_rule_of_the_table_has_its_place_in_the_documentation():
    page = (corpus.TESTS.parent / "docs/reference/findings.md").read_text()
    rules = {finding.split()[1] for row in hostile.outcomes().values() for finding in row["findings"]}
    corpus.seen_all(rules, 40)
    assert {rule for rule in rules if f'<a id="{rule.lower()}"></a>' not in page} == set()


@every("case", hostile.cases())
def test_the_table_says_error_only_with_an_error_finding(case: HostileCase):
    """`validate` has an error finding if and only if `decode` raises; both name the same rule."""
    row = hostile.outcomes()[case.name]
    errors = [finding.split()[1] for finding in row["findings"] if finding.startswith("error ")]
    assert bool(errors) == (row["error"] is not None) == (row["outcome"] == "error")
    assert row["error"] is None or row["error"]["rule"] == errors[0]


@all_cases
def test_what_we_read_is_what_kafka_read(case: HostileCase):
    """Where we do not fail, our records are those of Kafka's lenient reader, oddities included."""
    if hostile.outcomes()[case.name]["error"] is not None:
        with pytest.raises(ls.RecordBatchError):
            rows_of(case)
        return
    unread = broken_for_kafka(case)
    assert [row for row in rows_of(case) if row["entryPosition"] not in unread] == corpus.truth_of(case.truth).records


@all_cases
@pytest.mark.parametrize("threads", [1, 2])
def test_records_before_the_damage_are_given_first(case: HostileCase, threads: int):
    """A reader gets every record of the batches before the damage, then the error."""
    row = hostile.outcomes()[case.name]
    end = row["error"]["position"] if row["error"] else 1 << 62
    before = [record for record in truth_of_intact(case) if record["entryPosition"] < end]
    stream = ls.decode(case.read(), columns=corpus.RECORD_COLUMNS, control=True, threads=threads, **case.options)
    rows: list[corpus.Row] = []
    error = None
    try:
        for batch in stream:
            rows += corpus.rows_of(batch)
    except ls.RecordBatchError as raised:
        error = raised
    unread = broken_for_kafka(case)
    assert [record for record in rows if record["entryPosition"] not in unread] == before
    assert (error is None) == (row["error"] is None)
    assert error is None or hostile.error_row(error) == row["error"]


@all_cases
@pytest.mark.parametrize("threads", [1, 2])
def test_skipping_gives_all_records_of_valid_batches(case: HostileCase, threads: int):
    """`on_error="skip"` never raises; what Kafka read of intact batches is there, in order, and more only past its last step."""
    rows = rows_of(case, on_error="skip", unreadable="skip", threads=threads)
    known = truth_of_intact(case)
    last = max((record["entryPosition"] for record in known), default=-1)
    unread = broken_for_kafka(case)
    assert [row for row in rows if row["entryPosition"] <= last and row["entryPosition"] not in unread] == known
    # In 0.7 an offset is the position after a message, and one good message ends the file.
    rest = [[len(case.read())]] if case.format == "0.7" else [[1000, 1001], [100, 101, 102, 103]]
    assert [row["offset"] for row in rows if row["entryPosition"] > last] in ([], *rest)


@all_cases
def test_skipping_accounts_for_what_it_left_out(case: HostileCase):
    """Findings name the bytes that are lost: with the entries that were read they add up to the file."""
    data = case.read()
    stream = ls.decode(data, columns=["entryPosition"], control=True, on_error="skip", unreadable="skip", **case.options)
    read = {row["entryPosition"] for row in corpus.rows_of(stream)}
    lost = [(finding.position, finding.position + finding.length) for finding in stream.findings]
    assert all(not start <= position < end for position in read for start, end in lost)
    at = 0
    for start, end in [*lost, (len(data), len(data))]:
        while at < start:
            at += size_of(data, at, case.format)
        assert at == start
        at = end


@all_cases
def test_skipping_and_validating_share_one_judgement(case: HostileCase):
    """What is stepped over is what `validate` calls an error: the same rules at the same bytes. (`verify` and Spark's view show what
    `validate` finds: cli/test_verify.py, spark/read/test_views.py.)"""
    data = case.read()
    stream = ls.decode(data, columns=["offset"], control=True, on_error="skip", unreadable="skip", **case.options)
    drained = sum(batch.num_rows for batch in stream)
    found = [place_of(finding) for finding in ls.validate(data, unreadable="skip", **case.options).findings]
    skipped = [place_of(finding) for finding in stream.findings]
    assert [item for item in found if item[1] == "error"] == [item for item in skipped if item[1] == "error"]
    assert set(skipped) <= set(found)
    assert drained == hostile.outcomes()[case.name]["kept"]


def place_of(found: ls.Finding) -> tuple[str, str, int, int]:
    return found.rule, found.severity, found.position, found.length


def size_of(data: bytes, position: int, family: str) -> int:
    """Bytes of the entry at a position, by its length field."""
    if family == "0.7":
        return 4 + int.from_bytes(data[position : position + 4], "big")
    return 12 + int.from_bytes(data[position + 8 : position + 12], "big")


def test_skipping_finds_the_valid_batch_inside_the_claimed_length_of_a_torn_one():
    """L8-14: a length that was made larger hides the entries behind it."""
    case = next(case for case in CASES if case.name == "v2-length-100000000")
    assert [row["offset"] for row in rows_of(case, on_error="skip")] == [0, 1, 2, 1000, 1001]


def test_skipping_finds_every_valid_batch_for_the_batch_table_too():
    """V2-31: a wrong length makes a wrong checksum; the batch after it starts elsewhere."""
    case = next(case for case in CASES if case.name == "v2-length-plus-one")
    table = ls.batches(case.read(), on_error="skip")
    assert [row["baseOffset"] for row in corpus.rows_of(table) if row["isValid"]] == [0, 1000]


def test_findings_of_a_compressed_stream_have_the_position_of_its_batch():
    """FND-8."""
    case = next(case for case in CASES if case.name == "v2-lz4-split-inside-a-record")
    report = ls.validate(case.read())
    error = next(finding for finding in report.findings if finding.severity == "error")
    assert {finding.position for finding in report.findings if finding.rule == "FND-8"} <= {error.position}


@all_cases
def test_without_checksums_nothing_panics_and_the_two_verdicts_agree(case: HostileCase):
    report = ls.validate(case.read(), check_crc=False, **case.options)
    _, error = hostile.drain(ls.decode(case.read(), control=True, check_crc=False, **case.options))
    assert report.ok == (error is None)


def truth_of_intact(case: HostileCase) -> list[corpus.Row]:
    """The truth about records of batches in which Kafka and we found nothing wrong."""
    error = hostile.outcomes()[case.name]["error"]
    broken = broken_for_kafka(case) | ({error["position"]} if error else set())
    return [row for row in corpus.truth_of(case.truth).records if row["entryPosition"] not in broken]


def broken_for_kafka(case: HostileCase) -> set[int]:
    """Positions of batches in which reading for the truth failed; one of them on the value of a marker that iterates well."""
    return {row["position"] for row in corpus.truth_of(case.truth).batches if "error" in row}
