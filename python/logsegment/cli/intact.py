"""The next intact batch of a file, past whatever is damaged before it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from logsegment._core import FileSource, Finding
from logsegment._decode import batch_stream
from logsegment.cli.inputs import InputSegment

#: Headers that are looked at together: one of the first few is what is searched for, or none.
_BATCH_SIZE = 64
_FIELDS = [(name, name) for name in ("isValid", "position", "lastOffset")]


class Intact(NamedTuple):
    """Where a batch begins whose checksum matches, and what is wrong before it."""

    position: int
    damage: list[Finding]


def next_intact(segment: InputSegment, is_wanted: Callable[[Mapping[str, Any]], bool], options: Mapping[str, Any]) -> Intact | None:
    """The first intact batch of a file that is wanted.

    Args:
        segment: the file, which can be read more than once.
        is_wanted: asked with `position` and `lastOffset` of each intact batch.
        options: what `logsegment.batch_stream` is told of formats and plugins.

    Raises:
        RecordBatchError: when the format is none that is read.
        OSError: when the file cannot be read.
    """
    with batch_stream(FileSource(segment.path), on_error="skip", batch_size=_BATCH_SIZE, **options) as stream:
        for rows in stream:
            for line in rows.to_jsonl(fields=_FIELDS).splitlines():
                row = json.loads(line)
                if row["isValid"] and is_wanted(row):
                    return Intact(row["position"], [one for one in stream.findings if one.position < row["position"]])
    return None
