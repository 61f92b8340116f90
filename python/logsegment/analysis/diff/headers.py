"""The headers of one side's files as lines, chunk by chunk; of much, the next chunk is read in a thread while this one is looked at.

So the two sides of a comparison are read, and their checksums verified, at the same time.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from logsegment._core import ArrowBatch, FileSource, Finding
from logsegment._decode import batch_stream
from logsegment._errors import naming_file

#: About how many headers are looked at in one go.
CHUNK = 2048
INVALID = b'"isValid":false'


@dataclass(frozen=True, slots=True)
class Headers:
    """Headers that follow each other in a file, and what was found on the way to them.

    Attributes:
        path: the file.
        rows: they; None at the end of the file.
        lines: the wanted fields of each.
        has_invalid: a checksum does not match.
        findings: what is new.
    """

    path: str
    rows: ArrowBatch | None
    lines: list[bytes]
    has_invalid: bool
    findings: list[Finding]


def headers_of(paths: Sequence[str], fields: Sequence[str], how: dict[str, Any]) -> Generator[Headers]:
    """Read the headers of files, one after the other; each file ends with one that has no rows.

    Args:
        paths: the files.
        fields: names of what the lines tell.
        how: options of `logsegment.batch_stream`.

    Raises:
        RecordBatchError, OSError: when a file cannot be read, where its turn has come.
    """
    read = _read(paths, fields, how)
    # Before there is much to read, a thread costs more than it gains.
    for one in read:
        yield one
        if len(one.lines) >= CHUNK:
            break
    else:
        return
    with ThreadPoolExecutor(1, thread_name_prefix="logsegment-diff") as pool:
        coming = pool.submit(next, read, None)
        while (taken := coming.result()) is not None:
            coming = pool.submit(next, read, None)
            yield taken


def _read(paths: Sequence[str], fields: Sequence[str], how: dict[str, Any]) -> Iterator[Headers]:
    names = [(name, name) for name in fields]
    for path in paths:
        seen = 0
        with naming_file(path), batch_stream(FileSource(path), batch_size=CHUNK, **how) as stream:
            for rows in stream:
                findings = stream.findings[seen:]
                seen += len(findings)
                text = rows.to_jsonl(fields=names)
                yield Headers(path, rows, text.splitlines(), INVALID in text, findings)
            findings = stream.findings[seen:]
        yield Headers(path, None, [], False, findings)
