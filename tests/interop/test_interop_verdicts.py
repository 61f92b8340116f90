"""The same bytes, clean, hostile, mutated, through Kafka's classes and Python's clients: they make of them what we do, or are listed."""

from __future__ import annotations

import functools
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

import corpus
import differences
import inputs
import record
import verdicts
from differences import DIFFERENCES, JAVA, PYTHON, Listed
from inputs import Input
from matrix import PACKAGES
from peers import Peer
from verdicts import Verdict

pytestmark = pytest.mark.interop
#: What was seen: who, and a line of the list, or none for what is equal.
SEEN: dict[str, Counter[Listed | None]] = {}
#: Our rule -> what Kafka's classes threw at the same entry.
ERRORS: dict[str, set[str]] = defaultdict(set)


@functools.cache
def wanted() -> list[Input]:
    found = inputs.inputs()
    corpus.seen_all(found, 4700)
    return found


@functools.cache
def mine(*, for_python: bool) -> list[Verdict]:
    judge = verdicts.ours_for_python if for_python else verdicts.ours
    return [judge(item.data) for item in wanted()]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [*JAVA, *PYTHON])
def test_verdicts_and_records_differ_only_where_it_is_listed(peer: Callable[[str], Peer], scratch: Path, name: str) -> None:
    if name in PYTHON and sys.platform != "linux":
        pytest.skip("memory is bounded as Linux bounds it")
    theirs = verdicts.of_java(peer(name), wanted()) if name in JAVA else verdicts.of_python(PACKAGES[name], wanted(), scratch)
    SEEN[name] = Counter()
    unlisted: dict[str, list[str]] = defaultdict(list)
    for file, own, other in zip(wanted(), mine(for_python=name in PYTHON), theirs, strict=True):
        what = verdicts.difference(own, other)
        listed = differences.listed(name, verdicts.told(file.data, own), other.failure, what) if what else None
        SEEN[name][listed] += 1
        if what and listed is None:
            unlisted[f"{what}: {own.failure} | {other.failure}"].append(file.name)
        # Whether memory ends before something else is found depends on the heap.
        if name in JAVA and what is None and not own.is_read and not other.failure.startswith("OutOfMemoryError"):
            ERRORS[own.failure.split()[0]].add(other.failure.partition(":")[0])
    assert not unlisted, "\n".join(f"{len(names):5} {told}: {names[:3]}" for told, names in sorted(unlisted.items()))


def test_every_line_of_the_list_is_of_a_difference() -> None:
    stale = [line for line in DIFFERENCES for name in line.peers if name in SEEN and not SEEN[name][line]]
    assert not stale, stale


def test_refusals_are_the_errors_that_were_recorded() -> None:
    """Runs last: for each of our rules what Kafka throws at the same entry; with `INTEROP_RECORD` set it is written down first."""
    if set(SEEN) != {*JAVA, *PYTHON}:
        pytest.skip("some of the others were not asked")
    if os.environ.get("INTEROP_RECORD"):
        counts = {name: [seen[None], seen.total()] for name, seen in SEEN.items()}
        record.save_verdicts(counts, {rule: sorted(thrown) for rule, thrown in sorted(ERRORS.items())})
        record.PAGE.write_text(record.page(record.load()))
    assert {rule: sorted(thrown) for rule, thrown in ERRORS.items()} == record.verdicts()["errors"]
