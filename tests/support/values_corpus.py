"""Records with typed values, the logs of registries, and the truth that other implementations decoded."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import logsegment as ls

VALUES = Path(__file__).resolve().parents[1] / "values"
#: The log of a registry, and one in the forms of Karapace, with the truth of each.
REGISTRIES = {"_schemas-0": VALUES, "karapace/_schemas-0": VALUES / "karapace"}


def truth_of(partition: str) -> list[dict[str, Any]]:
    """Return the lines of truth of a partition."""
    folder, _, name = partition.rpartition("/")
    path = VALUES / folder / "truth" / f"{name}.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@cache
def registry(partition: str = "_schemas-0") -> ls.schemas.SchemaSet:
    """Return the schemas of a registry's log."""
    return ls.schemas.from_log(VALUES / partition)


@cache
def cases() -> list[dict[str, Any]]:
    """Return the cases of the manifest."""
    found: list[dict[str, Any]] = json.loads((VALUES / "manifest.json").read_text(encoding="utf-8"))["cases"]
    assert len(found) > 400
    return found
