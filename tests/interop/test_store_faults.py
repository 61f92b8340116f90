"""Reads of a store that fails: they return the rows of an undisturbed read or raise an error of the store, and end in time.

`make test` has a sample of the seeds. `make interop` has all of them. STORE_FAULT_SEED=NUMBER repeats one.
"""

from __future__ import annotations

import faulthandler
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import corpus
import eras
import logsegment as ls
import tiered_corpus as tiered
from every_store import TRANSACTIONS, shape
from faulty_server import Faults, FaultyServer, path_of
from logsegment._core import Place
from logsegment._places import with_options
from made_logs import START, index, make_partition
from s3_server import NEEDED_COMMANDS, assert_no_secret

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(7200)]
RUNS = int(os.environ.get("STORE_FAULTS", "100"))
SEED = os.environ.get("STORE_FAULT_SEED")
#: Offsets of the segments of `orders-0`; the second one is replaced.
FIRSTS = (0, 3000, 6000)
END, REPLACED = 9000, 1
#: Seconds that a run may take: a request is repeated for at most 60 seconds, and a read makes several of them.
MOST_SECONDS = 240
Options = dict[str, str]


@dataclass(frozen=True)
class Files:
    """The files of the store on this machine.

    Attributes:
        place: `orders-0`, the transactions of the corpus, and uploads below `prefix`.
        other: `orders-0` and the uploads with another version of the segment that is replaced.
    """

    place: Path
    other: Path

    @cached_property
    def replaced(self) -> dict[str, bytes]:
        """The other versions of the objects that are replaced, by the paths of their requests."""
        uploads = sorted((self.other / "prefix").rglob("*.log"))
        paths = [self.other / f"orders-0/{FIRSTS[REPLACED]:020}.log", uploads[REPLACED]]
        return {path_of(str(path.relative_to(self.other))): path.read_bytes() for path in paths}


@dataclass(frozen=True)
class Read:
    """A way to read.

    Attributes:
        of: reads, from a root and with options of the store.
        is_row: the result is a table with an offset in each row.
        is_tiered: it reads uploads.
    """

    of: Callable[[str, Options], Any]
    is_row: bool = True
    is_tiered: bool = False


COLUMNS = ["offset", "value"]


def _decoded(root: str, options: Options) -> pa.Table:
    source = ls.FileSource(f"{root}/orders-0/{FIRSTS[REPLACED]:020}.log", storage_options=options)
    return ls.decode(source, columns=COLUMNS).to_pyarrow()


def _records(name: str, **more: Any) -> Callable[[str, Options], pa.Table]:
    return lambda root, options: ls.Log(f"{root}/{name}", storage_options=options).records(columns=COLUMNS, **more).to_pyarrow()


def _uploads(root: str, options: Options) -> ls.Log:
    return ls.Log(f"{root}/prefix", decryption_keys=tiered.KEYS, storage_options=options)


def _validated(name: str) -> Callable[[str, Options], Any]:
    """Return the validation of a log. A checkpoint of log start offsets that cannot be read is a finding."""

    def validated(root: str, options: Options) -> Any:
        findings = ls.Log(f"{root}/{name}", storage_options=options).validate().findings
        return shape([finding for finding in findings if finding.rule != "SEG-21"])

    return validated


def _found(root: str, options: Options) -> Any:
    return [place.offset for place in ls.find(f"{root}/orders-0", timestamp=START + 4500, storage_options=options)]


def _looked_up(root: str, options: Options) -> Any:
    segment = ls.Segment(f"{root}/orders-0/{FIRSTS[REPLACED]:020}.log", storage_options=options)
    return segment.offset_for_timestamp(START + 4500), segment.next_offset(), len(segment.offset_index)


READS = {
    "decode": Read(_decoded),
    "records": Read(_records("orders-0")),
    "range": Read(_records("orders-0", start_offset=4000, end_offset=4100)),
    "committed": Read(_records(TRANSACTIONS, isolation="read_committed")),
    "validate": Read(_validated("orders-0"), is_row=False),
    "validate transactions": Read(_validated(TRANSACTIONS), is_row=False),
    "find": Read(_found, is_row=False),
    "look-up": Read(_looked_up, is_row=False),
    "uploads": Read(lambda root, options: _uploads(root, options).records(columns=COLUMNS).to_pyarrow(), is_tiered=True),
    "range of uploads": Read(
        lambda root, options: _uploads(root, options).records(columns=COLUMNS, start_offset=4000, end_offset=4100).to_pyarrow(),
        is_tiered=True,
    ),
    "validate uploads": Read(lambda root, options: shape(_uploads(root, options).validate().findings), is_row=False, is_tiered=True),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    place, other = tmp_path_factory.mktemp("here"), tmp_path_factory.mktemp("other")
    segments = [list(range(first, first + 3000)) for first in FIRSTS]
    make_partition(place, "orders", 0, segments, value_bytes=600, batch_bytes=20_000, interval=4096)
    shutil.copytree(corpus.CORPUS / "modern-4.1.0/data" / TRANSACTIONS, place / TRANSACTIONS)
    shutil.copytree(place, other, dirs_exist_ok=True)
    path = other / f"orders-0/{FIRSTS[REPLACED]:020}.log"
    table = ls.decode(path, columns=["offset", "timestampMs", "value"]).to_pyarrow()
    values = pc.binary_replace_slice(table["value"], 0, 1, b"x")
    ls.encode(table.set_column(2, "value", values), batch_bytes=20_000, out=path, overwrite=True)
    index(other / "orders-0", 4096)
    for root in (place, other):
        uploader = tiered.Uploader(root, chunk_size=100_000, compresses=True, key_id="key1")
        uploader.partition(root / "orders-0")
    return Files(place, other)


@pytest.fixture(scope="module")
def server(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    eras.need(*NEEDED_COMMANDS)
    with pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            environment.delenv(name)
        running = FaultyServer(tmp_path_factory.mktemp("s3"))
        try:
            for path in filter(Path.is_file, files.place.rglob("*")):
                # Uploads have tags of their version, which the server does not make of files.
                Place(with_options(running.uri(str(path.relative_to(files.place))), running.options)).put_file(str(path))
            yield running
        finally:
            running.close()


@pytest.fixture(scope="module")
def expected(files: Files) -> dict[str, tuple[Any, Any]]:
    """The results on this machine: of the files, and with the other version of the segment that is replaced."""
    return {name: (read.of(str(files.place), {}), read.of(str(files.other), {})) for name, read in READS.items()}


def test_undisturbed_reads_of_the_store_are_those_of_this_machine(server: FaultyServer, expected: dict[str, tuple[Any, Any]]):
    for name, read in READS.items():
        assert read.of("s3://lake", server.options) == expected[name][0], name


# If the checkpoint of log start offsets cannot be read, a warning says that records are read from the first segment on.
@pytest.mark.filterwarnings(r"ignore:.*\[SEG-21\]:UserWarning")
def test_faults_are_errors_or_change_nothing(server: FaultyServer, files: Files, expected: dict[str, tuple[Any, Any]]):
    seeds = range(RUNS) if SEED is None else [int(SEED)]
    pool = ThreadPoolExecutor(4)
    runs = {seed: pool.submit(_run, seed, server, files, expected) for seed in seeds}
    outcomes, problems = Counter[str](), []
    for seed, run in runs.items():
        try:
            # Runs begin in their order: this one began when those before ended, or earlier.
            outcome, problem = run.result(timeout=MOST_SECONDS)
        except TimeoutError:
            faulthandler.dump_traceback(sys.stderr)
            outcome, problem = "hang", f"seed {seed}: no end after {MOST_SECONDS} seconds"
        outcomes[outcome] += 1
        if problem:
            problems.append(f"{problem}; repeat it with STORE_FAULT_SEED={seed}")
    pool.shutdown(wait=not outcomes["hang"], cancel_futures=True)
    print(dict(outcomes))
    assert not problems, "\n".join([f"{len(problems)} of {len(seeds)} runs", *problems[:20]])
    assert SEED or (outcomes["equal"] > RUNS / 4 and outcomes.total() - outcomes["equal"] > RUNS / 10)


def _run(seed: int, server: FaultyServer, files: Files, expected: dict[str, tuple[Any, Any]]) -> tuple[str, str | None]:
    """Read once; return the outcome, and what is wrong with it."""
    faults, name = Faults(seed), list(READS)[seed % len(READS)]
    read = READS[name]
    faults.other = files.replaced
    Place.forget_chunks()
    options = server.options_of(faults)
    about = f"seed {seed}, {name}, {'+'.join(faults.kinds)} at {faults.rate:g}"
    try:
        result = read.of("s3://lake", options)
    except (OSError, ls.RecordBatchError) as error:
        problem = _problem_of(error, read, faults)
        return type(error).__name__, problem and f"{about}: {problem}: {error!r}"
    except BaseException as error:
        return "untyped", f"{about}: an error of another type: {error!r}"
    finally:
        faults.end()
    is_right = _is_right(result, read, *expected[name], faults)
    return ("equal", None) if is_right else ("wrong", f"{about}: another result, after {dict(faults.happened)}: {str(result)[:200]}")


def _problem_of(error: OSError | ls.RecordBatchError, read: Read, faults: Faults) -> str | None:
    try:
        assert_no_secret(f"{error!r} {error} {error.__cause__!r} {error.__context__!r}")
    except AssertionError:
        return "a key is in the message"
    if not faults.happened:
        return "an error without a fault"
    if not isinstance(error, OSError):
        # Chunks of one version do not belong to the manifest of the other one.
        return None if read.is_tiered and faults.happened["replaced"] else "damage is reported"
    return None if str(error.filename).startswith("s3://lake/") else "the error does not name the file"


def _is_right(result: Any, read: Read, first: Any, other: Any, faults: Faults) -> bool:
    if result == first:
        return True
    if not faults.happened["replaced"]:
        return False
    if read.is_tiered:
        # The new object does not belong to its manifest.
        return not read.is_row and not {"TS-45", "TS-18"}.isdisjoint(finding[0] for finding in result)
    if not read.is_row:
        return bool(result == other)
    # The segment that was replaced is that of one version.
    segments = [pc.and_(pc.greater_equal(table["offset"], 3000), pc.less(table["offset"], 6000)) for table in (result, first, other)]
    (theirs, mine, others), outside = (
        [table.filter(is_in) for table, is_in in zip((result, first, other), segments, strict=True)],
        [table.filter(pc.invert(is_in)) for table, is_in in zip((result, first), segments[:2], strict=True)],
    )
    return outside[0] == outside[1] and theirs in (others, mine)
