"""Tasks as bytes: a query and the parts of its tasks go in, what the library of the jar parses comes out. `src/jvm/task.rs` reads them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from struct import pack
from typing import TypeVar, cast

from logsegment._core import FileSource, Finding, Limits, SegmentFile, Transactions, ValueSchemas
from logsegment._options import LIMIT_NAMES, is_of_keys, is_of_values
from logsegment.partition.reader import Part
from logsegment.spark.options.plugins import ABSENT
from logsegment.spark.options.read import MODES
from logsegment.spark.read.damage import SKIPPING
from logsegment.spark.read.plan import SegmentTask
from logsegment.spark.read.reader import SegmentReader

T = TypeVar("T")
#: A number that is not given.
_NONE = -(2**63)
#: A limit that is lifted.
_UNLIMITED = 2**64 - 1


def query_bytes(reader: SegmentReader) -> bytes:
    """Return what all tasks of a query share, as bytes.

    Args:
        reader: of a query without plugin codecs.
    """
    options, read = reader.options, reader.options.read
    limits = read.limits or Limits()
    lifted = [getattr(limits, name) for name in LIMIT_NAMES]
    numbers = [_UNLIMITED if limit == "unlimited" else cast(int, limit) for limit in lifted]
    hint = "" if read.skips_damage else SKIPPING
    texts = _counted(hint.encode()) + _counted(ABSENT.option.encode())
    decoding = pack(">qqq6Q", read.reads_proposed, read.batch_size, read.batch_bytes, *numbers)
    codecs = _list(list(read.quirks), _name) + _list(list(read.zstd_dictionaries or ()), _counted)
    damage = pack(">qqq", MODES.index(options.mode.name), read.unreadable == "skip", options.fails_on_data_loss)
    corrupt = _text(None if reader.corrupt.index is None else options.mode.column)
    typed = _list([name for name in reader.columns.names if is_of_values(name) or is_of_keys(name)], _name)
    return b"".join([texts, decoding, codecs, damage, corrupt, typed, _schemas(read.value_schemas), _schemas(read.key_schemas)])


def task_bytes(task: SegmentTask) -> bytes:
    """Return the parts of a task as bytes."""
    return _list([_part(part, resumes=number in task.resumed) for number, part in enumerate(task.parts)], bytes)


def _schemas(known: ValueSchemas | None) -> bytes:
    """Return the schemas of keys or values; the parts are those of their pickle."""
    if known is None:
        return pack(">q", 0)
    entries, framing, format_, present, newest, reader, messages, main, integers = known.__reduce__()[1]
    return b"".join(
        [
            pack(">q", 1),
            _list(entries, _entry),
            _name(framing),
            _name(format_),
            _list(present, _number),
            _number(_given(newest)),
            pack(">q", 0) if reader is None else pack(">q", 1) + _name(reader[0]) + _name(reader[1]) + _list(reader[2], _named),
            _list(messages, lambda message: _number(message[0]) + _list(message[1], _number)),
            _number(_given(main)),
            _name(integers),
        ]
    )


def _entry(entry: tuple[int | None, bytes | None, str, str, list[tuple[str, str]], list[int]]) -> bytes:
    schema_id, guid, kind, text, referenced, global_ids = entry
    names = [_number(_given(schema_id)), pack(">q", 0) if guid is None else pack(">q", 1) + guid, _name(kind), _name(text)]
    return b"".join([*names, _list(referenced, _named), _list(global_ids, _number)])


def _named(pair: tuple[str, str]) -> bytes:
    return _name(pair[0]) + _name(pair[1])


def _name(text: str) -> bytes:
    return _counted(text.encode())


def _number(number: int) -> bytes:
    return pack(">q", number)


def _part(part: Part, *, resumes: bool) -> bytes:
    source, read = part
    first, end = source.offsets or (None, None)
    ranges = [_given(bound) for bound in (source.end, first, end, read.start_offset, read.end_offset, *read.share, *read.times)]
    place = [_counted(os.fsencode(source.path)), pack(">q9q", source.start, *ranges), _text(read.topic), pack(">q", _given(read.partition))]
    ending = pack(">qqq", read.strict_tail, _given(source.next_offset), source.is_inner)
    base_offset = SegmentFile.at(source.path).base_offset or 0
    return b"".join([*place, ending, _transactions(read.transactions), pack(">qq", base_offset, resumes), _finding(source)])


def _transactions(known: Transactions | None) -> bytes:
    if known is None:
        return pack(">q", 0)
    lists = (_list(ranges, lambda triple: pack(">qqq", *triple)) for ranges in (known.aborted, known.undecided))
    return b"".join([pack(">qq", 1, _given(known.last_stable_offset)), *lists])


def _finding(source: FileSource) -> bytes:
    one: Finding | None = source.finding
    if one is None:
        return pack(">q", 0)
    texts = [_counted(text.encode(errors="replace")) for text in (one.rule, one.severity, one.message)]
    offsets = [_given(number) for number in (one.base_offset, one.last_offset, one.record_index)]
    return b"".join([pack(">q", 1), *texts, pack(">QQqqq", one.position, one.length, *offsets), _text(one.field)])


def _list(items: Sequence[T], item: Callable[[T], bytes]) -> bytes:
    return pack(">i", len(items)) + b"".join(map(item, items))


def _text(text: str | None) -> bytes:
    return pack(">q", 0) if text is None else pack(">q", 1) + _counted(text.encode())


def _given(number: int | None) -> int:
    return _NONE if number is None else number


def _counted(text: bytes) -> bytes:
    return pack(">i", len(text)) + text
