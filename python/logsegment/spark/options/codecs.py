"""Options of compressed batches: `quirks`, `zstdDictionaries`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from logsegment._options import ensure_quirks
from logsegment._places import to_internal_uri

QUIRKS = "quirks"
DICTIONARIES = "zstdDictionaries"
CODECS = (QUIRKS, DICTIONARIES)


def codec_options(options: Mapping[str, str]) -> dict[str, Any]:
    """Parse the options of compressed batches into those of `ReadOptions`.

    The files of dictionaries are read on the driver, and their bytes travel with the tasks.

    Args:
        options: Spark's options, names in lower case.

    Raises:
        ValueError: if a quirk is unknown, or the list of files is invalid.
        OSError: if a file cannot be read.
    """
    names = [name for part in options.get(QUIRKS, "").split(",") if (name := part.strip().lower())]
    files = _files(options.get(DICTIONARIES.lower()))
    dictionaries = None if files is None else tuple(Path(to_internal_uri(file)).read_bytes() for file in files)
    return {"quirks": ensure_quirks(f"option {QUIRKS}", names), "zstd_dictionaries": dictionaries}


def _files(text: str | None) -> list[str] | None:
    """Return the paths in a JSON array, or in a text with commas between them."""
    if text is None:
        return None
    try:
        files = json.loads(text) if text.lstrip().startswith("[") else [path for part in text.split(",") if (path := part.strip())]
    except ValueError:
        files = []
    if not files or not all(isinstance(file, str) and file for file in files):
        raise ValueError(f"option {DICTIONARIES} must be paths with commas between them, or a JSON array of paths, not {text!r}")
    return files
