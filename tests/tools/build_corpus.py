"""Copy what the tests need from a corpus of Kafka's own bytes into tests/corpus and tests/hostile.

In: a corpus directory (manifest.json, SET/data, SET/truth) and a file of test vectors. Out: every file of log entries with its
truth, in the same layout, and one manifest.json with the sha256 of every file. Partition directories are copied whole, so that they
stay what a broker left. This tool parses no Kafka bytes: the manifest of the corpus says what is in a file.

    python tests/tools/build_corpus.py CORPUS VECTORS

Sources: the corpus was written by Kafka's brokers and clients, its truth by Kafka's own Java classes.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Case = dict[str, Any]

TESTS = Path(__file__).resolve().parents[1]
#: Sets of damaged bytes, and where each goes below tests/hostile.
HOSTILE = {"hostile": "", "hostile-0.7.2": "0.7/"}
#: Sets whose magic 0 and 1 are those of Kafka 0.7; their bytes do not say so (MAP-1).
OF_0_7 = ("legacy-0.7.2", "hostile-0.7.2")
#: Sets that list which of their files was made from which input.
CONVERSIONS = ("conversions-down", "conversions-up")
#: What a case keeps of its line in the corpus manifest.
KEPT = ("file", "set", "kind", "kafkaVersion", "truth", "consumerTruth")
KEPT += ("magics", "codecs", "timestampTypes", "batches", "records", "features")
KEPT_HOSTILE = ("file", "case", "damage", "expected", "truth", "magics", "codecs", "storedGzip")
#: Kinds of files that hold log entries.
ENTRIES = ("segment", "records", "kraft-snapshot")


def main(corpus: Path, vectors: Path) -> None:
    """Rebuild both directories from scratch."""
    cases = json.loads((corpus / "manifest.json").read_text())["cases"]
    build_clean(corpus, [case for case in cases if case["set"] not in HOSTILE])
    build_vectors(vectors)
    build_hostile(corpus, [case for case in cases if case["set"] in HOSTILE])


def build_clean(corpus: Path, cases: list[Case]) -> None:
    target = empty(TESTS / "corpus", keep=("README.md",))
    listed = [case for case in cases if case["kind"] in ENTRIES]
    wanted = {Path(case["file"]).parent for case in listed if case["kind"] != "records"}
    neighbours = [case for case in cases if case["kind"] not in ENTRIES and Path(case["file"]).parent in wanted]
    for case in listed + neighbours:
        copy(corpus, target, files_of(case))
    copy(corpus, target, [f"{name}/set.json" for name in sorted({case["set"] for case in listed})])
    copy(corpus, target, [f"{name}/conversions.jsonl" for name in CONVERSIONS])
    made = sum(len((corpus / name / "conversions.jsonl").read_text().splitlines()) for name in CONVERSIONS)
    rows = [kept(target, case, KEPT) for case in sorted(listed, key=lambda case: case["file"])]
    write_manifest(target, rows, conversions=made)


def build_hostile(corpus: Path, cases: list[Case]) -> None:
    target = empty(TESTS / "hostile", keep=("README.md", "outcomes.json"))
    rows = [row for name in HOSTILE for row in hostile_rows(corpus, target, name, [case for case in cases if case["set"] == name])]
    write_manifest(target, sorted(rows, key=lambda row: row["file"]))


def hostile_rows(corpus: Path, target: Path, name: str, cases: list[Case]) -> Iterator[Case]:
    """Copy a set of damaged files; give the manifest's line for each."""
    verdicts = {line["file"]: line["stages"] for line in json_lines(corpus / name / "outcomes.jsonl.gz")}
    for case in cases:
        files = {file: file.replace(f"{name}/", HOSTILE[name], 1) for file in files_of(case)}
        for file, local in files.items():
            copy_file(corpus / file, target / local)
        places = {key: files[case[key]] for key in ("file", "truth") if case.get(key)}
        yield kept(target, case | places, KEPT_HOSTILE) | {"kafka": verdicts[Path(case["file"]).name]}


def build_vectors(vectors: Path) -> None:
    """All vectors, one a line."""
    listed = json.loads(vectors.read_text())["vectors"]
    write_lines(TESTS / "corpus/vectors.json", {"count": len(listed)}, "vectors", listed)


def files_of(case: Case) -> list[str]:
    """The file of a case and its truth files."""
    return [case["file"], *filter(None, [case.get("truth")]), *case.get("consumerTruth", [])]


def kept(target: Path, case: Case, keys: Iterable[str]) -> Case:
    row = {key: case[key] for key in keys if key in case} | {"format": "0.7" if case["set"] in OF_0_7 else "auto"}
    data = (target / case["file"]).read_bytes()
    return row | {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def copy(source: Path, target: Path, names: Iterable[str]) -> None:
    for name in names:
        copy_file(source / name, target / name)


def copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def empty(directory: Path, keep: Iterable[str] = ()) -> Path:
    for entry in sorted(directory.iterdir()) if directory.is_dir() else []:
        if entry.name not in keep:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def write_manifest(target: Path, rows: list[Case], **more: int) -> None:
    """One case a line; `counts` is what a walk must see."""
    counts = {"cases": len(rows)} | {key: total(rows, key) for key in ("batches", "records") if key in rows[0]} | more
    write_lines(target / "manifest.json", {"counts": counts}, "cases", rows)


def write_lines(path: Path, front: dict[str, Any], name: str, rows: list[Case]) -> None:
    """An object whose last member is a list, with a line for each of its elements."""
    lines = ",\n".join(json.dumps(row, sort_keys=True) for row in rows)
    path.write_text(f"{json.dumps(front)[:-1]}, {json.dumps(name)}: [\n{lines}\n]}}\n")


def total(rows: list[Case], key: str) -> int:
    return sum(row.get(key) or 0 for row in rows)


def json_lines(path: Path) -> Iterator[Case]:
    with gzip.open(path, "rt") as lines:
        yield from map(json.loads, lines)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
