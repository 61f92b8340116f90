"""Directories of partitions in an output: their names, the small files that stay valid, and their new sidecar files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from logsegment._core import Place, rebuild_indexes
from logsegment._output import write_file
from logsegment._places import absolute, join_path, redacted_uri
from logsegment.segment_files.output_names import NamedSegment, directory_name

#: Files of a partition directory that stay true when its segments are rewritten.
KEPT_FILES = ("partition.metadata",)


def ensure_offset_names(segments: Iterable[NamedSegment]) -> None:
    """Raise an error for a file without the name of a segment.

    Raises:
        ValueError: naming the first of them.
    """
    for segment in segments:
        if segment.base_offset is None:
            raise ValueError(f"{redacted_uri(segment.path)} is not named after an offset; pass it alone, without directories")


def ensure_own_directories(segments: Iterable[NamedSegment]) -> None:
    """Raise an error for a file without the name of a segment, and for partitions that would share a directory of the output.

    Raises:
        ValueError: naming them.
    """
    owners: dict[str, str] = {}
    for segment in segments:
        ensure_offset_names([segment])
        directory = absolute(segment.directory)
        owner = owners.setdefault(directory_name(segment), directory)
        if owner != directory:
            raise ValueError(f"{redacted_uri(owner)} and {redacted_uri(directory)} would become one directory; pass one of them at a time")


def begun_directory(segment: NamedSegment, output: Path, name: str | None = None) -> Path:
    """Make the directory of a segment's partition in the output, with the small files that stay valid.

    Args:
        segment: a segment.
        output: the output.
        name: the directory in the output; None for the name of the partition.
    """
    target = output / (directory_name(segment) if name is None else name)
    target.mkdir(parents=True, exist_ok=True)
    for kept in KEPT_FILES:
        data = None if (target / kept).exists() else Place(join_path(segment.directory, kept)).read()
        if data is not None:
            write_file(target / kept, data)
    return target


def rebuild_sidecars(output: Path) -> None:
    """Make the indexes, snapshots and epochs of every partition in an output directory."""
    for target in sorted({path.parent for path in output.rglob("*.log")}):
        logs = sorted(target.glob("*.log"))
        rebuild_indexes([(path, int(path.name[:20])) for path in logs], target)
