"""Copy what the tests need from a corpus of Kafka's own bytes into tests/corpus and tests/hostile.

In: a corpus directory (manifest.json, SET/data, SET/truth) and a file of test vectors. Out: the files whose entries this version
reads (magic 2, alone or mixed), with their truth, in the same layout, and one manifest.json with the sha256 of every file.
Partition directories are copied whole, so that they stay what a broker left. This tool parses no Kafka bytes: the manifest of the
corpus says what is in a file.

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
#: Sets of clean bytes. The down-conversions hold magic 0 and 1 only.
CLEAN = ("modern-4.1.0", "other-clients", "lib-3.6.2", "legacy-0.11.0.3", "legacy-2.4.1", "conversions-up")
#: Sets of which everything is copied, segments without entries too.
WHOLE = ("modern-4.1.0",)
#: What a case keeps of its line in the corpus manifest.
KEPT = ("file", "set", "kind", "kafkaVersion", "truth", "consumerTruth")
KEPT += ("magics", "codecs", "timestampTypes", "batches", "records", "features")
KEPT_HOSTILE = ("file", "case", "damage", "expected", "truth", "magics", "codecs", "storedGzip")
#: Kinds of files that hold log entries.
ENTRIES = ("segment", "records", "kraft-snapshot")
#: Vector units and formats that say something about magic 2.
VECTOR_FORMATS = ("v2", "v3", "payload", "control-key", "control-value", "varlong", "v2-bare-legacy-header")


def main(corpus: Path, vectors: Path) -> None:
    """Rebuild both directories from scratch."""
    cases = json.loads((corpus / "manifest.json").read_text())["cases"]
    build_clean(corpus, [case for case in cases if case["set"] in CLEAN])
    build_vectors(vectors)
    build_hostile(corpus, [case for case in cases if case["set"] == "hostile"])


def build_clean(corpus: Path, cases: list[Case]) -> None:
    target = empty(TESTS / "corpus", keep=("README.md",))
    entries = [case for case in cases if case["kind"] in ENTRIES]
    listed = [case for case in entries if is_read(case) or is_empty_neighbour(case, entries)]
    wanted = {Path(case["file"]).parent for case in listed if case["kind"] != "records"}
    neighbours = [case for case in cases if case["kind"] not in ENTRIES and Path(case["file"]).parent in wanted]
    for case in listed + neighbours:
        copy(corpus, target, files_of(case))
    for name in sorted({case["set"] for case in listed}):
        copy(corpus, target, [f"{name}/set.json"])
    write_manifest(target, [kept(target, case, KEPT) for case in sorted(listed, key=lambda case: case["file"])])


def build_hostile(corpus: Path, cases: list[Case]) -> None:
    target = empty(TESTS / "hostile", keep=("README.md", "outcomes.json"))
    read = [case for case in cases if is_hostile_to_magic_2(case)]
    verdicts = {line["file"]: line for line in json_lines(corpus / "hostile/outcomes.jsonl.gz")}
    rows = []
    for case in read:
        copy(corpus / "hostile", target, [name.removeprefix("hostile/") for name in files_of(case)])
        local = {key: value.removeprefix("hostile/") if key in ("file", "truth") and value else value for key, value in case.items()}
        rows.append(kept(target, local, KEPT_HOSTILE) | {"kafka": verdicts[Path(case["file"]).name]["stages"]})
    write_manifest(target, sorted(rows, key=lambda row: row["file"]))


def build_vectors(vectors: Path) -> None:
    """The vectors of magic 2, and those whose output is magic 2, one a line."""
    listed = [vector for vector in json.loads(vectors.read_text())["vectors"] if is_about_magic_2(vector)]
    write_lines(TESTS / "corpus/vectors.json", {"count": len(listed)}, "vectors", listed)


def is_read(case: Case) -> bool:
    return 2 in (case["magics"] or [])


def is_empty_neighbour(case: Case, entries: list[Case]) -> bool:
    """A segment without entries: of a whole set that is wanted, or beside segments that are."""
    if case["magics"]:
        return False
    directory = Path(case["file"]).parent
    return case["set"] in WHOLE or any(is_read(other) and Path(other["file"]).parent == directory for other in entries)


def is_hostile_to_magic_2(case: Case) -> bool:
    """Bombs have no list of magics: their name tells."""
    if case.get("magics") is None:
        return not case["case"].startswith(("bomb-v0", "bomb-v1"))
    return case["magics"] == [] or 2 in case["magics"]


def is_about_magic_2(vector: Case) -> bool:
    if vector["unit"] in ("plugin", "convert_v3"):
        return False
    if vector["unit"] == "payload":
        return vector["magic"] == 2
    return vector["format"] in VECTOR_FORMATS or vector.get("operation", {}).get("to_magic") == 2


def files_of(case: Case) -> list[str]:
    """The file of a case and its truth files."""
    return [case["file"], *filter(None, [case.get("truth")]), *case.get("consumerTruth", [])]


def kept(target: Path, case: Case, keys: Iterable[str]) -> Case:
    row = {key: case[key] for key in keys if key in case}
    data = (target / case["file"]).read_bytes()
    return row | {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def copy(source: Path, target: Path, names: Iterable[str]) -> None:
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)


def empty(directory: Path, keep: Iterable[str] = ()) -> Path:
    for entry in sorted(directory.iterdir()) if directory.is_dir() else []:
        if entry.name not in keep:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def write_manifest(target: Path, rows: list[Case]) -> None:
    """One case a line; `counts` is what a walk must see."""
    counts = {"cases": len(rows)} | {key: total(rows, key) for key in ("batches", "records") if key in rows[0]}
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
