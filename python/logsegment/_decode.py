"""Read records and batch headers of one source: `decode`, `batches`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Unpack

from logsegment._core import (
    ArrowBatch,
    ArrowTable,
    FileSource,
    Finding,
    Limits,
    RecordStream,
    SegmentFile,
    UpcomingFiles,
    is_internal_topic,
)
from logsegment._core import batch_stream as core_batch_stream
from logsegment._core import decode as core_decode
from logsegment._options import (
    Binary,
    CodecRegistry,
    Format,
    Framing,
    Integers,
    Isolation,
    KeyValues,
    OnError,
    Quirk,
    ReadOptions,
    SchemaSource,
    SkippingKeywords,
    Unreadable,
    Values,
    ensure_offsets,
    partition_number,
)
from logsegment._places import redacted_uri
from logsegment._storage import StorageOptions, reached_source
from logsegment._text import listed
from logsegment._typed_values import planned

#: Result of `batches`: Arrow record batches in memory.
BatchTable = ArrowTable


def decode(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    binary: Binary = "binary",
    check_crc: bool = True,
    on_error: OnError = "raise",
    unreadable: Unreadable = "raise",
    strict_tail: bool = False,
    isolation: Isolation = "read_uncommitted",
    control: bool = False,
    start_offset: int | None = None,
    end_offset: int | None = None,
    batch_size: int = 65536,
    batch_bytes: int = 1 << 20,
    topic: str | None = None,
    partition: int | str | None = None,
    threads: int = 1,
    format: Format = "auto",
    quirks: Collection[Quirk] = (),
    zstd_dictionaries: Sequence[bytes] | None = None,
    codecs: CodecRegistry | None = None,
    limits: Limits | None = None,
    values: Values = "raw",
    key_values: KeyValues = "raw",
    schemas: SchemaSource | None = None,
    reader_schema: Any = None,
    framing: Framing | None = None,
    integers: Integers = "int64",
    key: str | bytes | Sequence[str | bytes] | None = None,
    storage_options: StorageOptions | None = None,
) -> RecordStream:
    """Decode record batches into a stream of Arrow columns, one row per record.

    Immutable buffers are borrowed: with ``binary="binary_view"`` the values of uncompressed batches point into the caller's memory.
    Mutable buffers are copied piece by piece. The GIL is released while native code works.

    Args:
        source: a path (a string, an `os.PathLike`, or the URI of a store), a `FileSource`, a buffer (bytes, memoryview, mmap, numpy,
            pyarrow.Buffer), or a binary file object. Its first byte is the first byte of an entry.
        columns: names of the record columns to build, in this order. None builds key, value, topic, partition, offset, timestamp,
            timestampType, headers. The others are headersRaw, timestampMs, attributes, producerId, producerEpoch, sequence,
            partitionLeaderEpoch, isTransactional, isControl, controlType, magic, compression, batchBaseOffset, entryPosition,
            indexInEntry, internal. Columns that are not named are not built.
        binary: Arrow type of keys, values and header values.
        check_crc: compare the checksum of every entry.
        on_error: "raise" ends the stream at the first damage, after the records before it. "skip" continues at the next valid entry
            and reports a finding.
        unreadable: "raise" ends the stream at a valid batch that cannot be read here, also with `on_error="skip"`: its plugin or its zstd
            dictionary is missing, it is over one of the `limits`, it needs one of the `quirks`, or it is of magic 3 and `format` is not
            "v3". "skip" leaves such batches out, and reports each as a finding of severity "warning".
        strict_tail: raise TruncatedError if the source ends inside an entry; otherwise that is a finding.
        isolation: "read_committed" leaves out aborted transactions, and all records from the first open transaction on. The source must
            be the whole partition, and must be readable twice; `Log` finds the transactions of several segments. A marker counts if its
            checksum matches, also without `check_crc`. A batch whose marker may be damaged or lost is damage (TRX-5).
        control: return the records of control batches too (transaction markers, KRaft).
        start_offset: first offset to return (inclusive), per record. A batch is left out unopened if its header claims only others.
        end_offset: end of the offsets to return (exclusive), per record.
        batch_size: largest number of rows of an Arrow batch.
        batch_bytes: about how many bytes of keys, values and headers an Arrow batch contains; a larger record gets its own batch. With
            ``binary="binary_view"`` a record of an uncompressed batch counts 128 bytes and a sixteenth of its own, which are not copied.
        topic: value of the column `topic`.
        partition: value of the column `partition`.
        threads: number of threads that decode. 1 is the calling thread, which is always used with `codecs`. Threads start with the first
            batch. A forked child cannot continue a stream whose threads its parent started (ValueError); it opens its own.
        format: "auto" reads magic 0, 1 and 2 of Kafka 0.8 and later, entry by entry, and reads a file whose name ends with `.kafka` as
            Kafka 0.7. "v3" reads magic 3 besides, a proposal that was never released (KIP-931); otherwise a batch of magic 3 is an
            UnsupportedError. "0.7" and "v0" to "v2" read that format only. "sniff" decides between Kafka 0.7 and later by the first entry.
            In Kafka 0.7 offsets are positions, counted from the one in the name of a `.kafka` file. `offset` is the position after a
            message; all messages of a wrapper but the last have the position of the wrapper, so it is not unique. `entryPosition` and
            `indexInEntry` are. `start_offset` and `end_offset` are compared with the positions where entries start.
        quirks: names of deviations to accept. Kafka refuses them, and `validate` reports them. "lz4-header-checksum" accepts LZ4 frames of
            magic 1 and 2 with any header checksum; in magic 0 every header checksum is accepted. "lz4-dependent-blocks" accepts LZ4 frames
            whose blocks depend on each other. The error of a batch that a quirk makes readable names the quirk.
        zstd_dictionaries: the bytes of trained dictionaries, for zstd frames that name one of them.
        codecs: a registry of plugins (`logsegment.plugins`) that decompress the batches that name them. A registry names code that is
            imported: trust it as you trust the Python path.
        limits: bounds of the sizes that an entry may declare; None is `Limits()`.
        values: "raw", or "internal" for the column `internal` too, with the fields of control records and of records of Kafka's internal
            topics. The topic is `topic`, or that of the directory of a file. To name the column in `columns` does the same, and gives null
            if no topic is known. It is a struct of `type` (Kafka's name), `version` (of the value), `key` and `value` (JSON text, or
            null). It is null in records of other topics, and `decode` warns. Bytes without a table are `{"base64": ...}` with a finding
            INT-1, bytes that contradict their table with INT-2. "avro" decodes values with `schemas` into the columns `valueRecord` (a
            struct; a value that is not a record as it is) and `valueSchemaId`. In `columns`, `valueRecord.customer.name` is one field as a
            column of its own, and a name with dots is in backticks (``valueRecord.`log.level` ``). Fields that are not named are skipped.
            A union is its plain value where all of its branches have one Arrow type, else a struct with a field for each branch. A type
            inside itself is JSON text. "json" decodes JSON texts into the same
            columns; where `schemas` is None their schema is inferred, for which the source is read twice. "protobuf" compiles schemas and
            decodes messages. "auto" detects the format of each value: by its schema; without one it is JSON if it parses and has no
            name twice, else null. A value that names a schema which is not among `schemas` is null too, and `RecordStream.unknown_schemas`
            has the name. `io_stats` counts the formats, and values that are null so as `raw_values`. "string", "long", "int", "short",
            "float", "double" and "uuid" are values of Kafka's own serializers. "windowed(TYPE)" and "session(TYPE)" are keys of windows of
            Kafka Streams: structs of `key`, `windowStart` and, of a session, `windowEnd`.
        key_values: the same for keys: `keyRecord`, `keySchemaId`.
        schemas: the schemas of keys and values; `logsegment.schemas` reads them. With `on_error="skip"` a value that cannot be decoded is
            null, and a finding says why (SCH-1 to SCH-6).
        reader_schema: the schema as which all values are read (a text, parsed JSON, an `os.PathLike`, a `Schema`, or an Arrow schema of
            JSON values). None takes the newest
            version of the subject `TOPIC-value` if all versions can be read as it, else a struct with a field `schema_ID` for each
            schema. Without such a subject, these are the schemas that the values name; the source is read twice to find them.
        framing: how a value names its schema, as `SchemaSet.framing` documents it; None is that of `schemas`. With "container" and
            `values="avro"` no `schemas` are needed: each value has its own. `RecordStream.framings` counts detected ones.
        integers: the column of an integer of JSON whose schema has no bounds: "int64", or "decimal" for decimal128(38, 0). A number that
            its column cannot hold is null alone, and a finding (SCH-3, a warning) names its field.
        key: return only records with this key (text is UTF-8), or with one of several.
        storage_options: options of the store of a URI or a `FileSource`; see `Log`. A path of this machine and bytes ignore them.

    Returns:
        A `RecordStream`. `timestamp` is timestamp[us, UTC]; -1 is 1969-12-31T23:59:59.999Z, and a time that does not fit is null.

    Raises:
        RecordBatchError: from the stream, if bytes are invalid. The attributes have the position. The text of an error about a file starts
            with the file, which is also its `path`.
        ValueError, TypeError: if an argument is invalid.
        OSError: if the file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> data = open("00000000000000000000.log", "rb").read()
        >>> ls.decode(data, columns=["offset", "value"], end_offset=2).to_pyarrow().num_rows
        2

    Source: KIP-98; `DefaultRecordBatch`, `DefaultRecord` and `CompletedFetch` in Kafka's clients.
    """
    ensure_offsets(start_offset, end_offset)
    options = ReadOptions(
        columns=columns,
        binary=binary,
        check_crc=check_crc,
        on_error=on_error,
        unreadable=unreadable,
        strict_tail=strict_tail,
        isolation=isolation,
        control=control,
        start_offset=start_offset,
        end_offset=end_offset,
        batch_size=batch_size,
        batch_bytes=batch_bytes,
        topic=topic,
        partition=partition_number(partition),
        threads=threads,
        format=format,
        quirks=quirks,
        zstd_dictionaries=zstd_dictionaries,
        codecs=codecs,
        limits=limits,
        values=values,
        key_values=key_values,
        schemas=schemas,
        reader_schema=reader_schema,
        framing=framing,
        integers=integers,
        key=key,
    )
    return decoded(reached_source(source, storage_options), options)


def decoded(source: Any, options: ReadOptions, *, upcoming: UpcomingFiles | None = None) -> RecordStream:
    """Decode a source, as `decode` does, with built options.

    Args:
        source: the source.
        options: options of the read.
        upcoming: files that are read next; the core may have begun to open the source.
    """
    if options.has_internal and options.topic is None:
        options = replace(options, topic=_topic_of(source))
        if options.topic is None and options.values == "internal" and not options.control:
            raise ValueError('values: the topic of the records is not known; pass topic="__consumer_offsets", for example')
    warn_of_other_topics(options, [options.topic], stacklevel=4)
    if options.is_typed:
        options = planned(options, [(options.topic or _topic_of(source), source)])
    return core_decode(source, options, upcoming=upcoming)


def batches(
    source: Any,
    *,
    check_crc: bool = True,
    on_error: OnError = "raise",
    strict_tail: bool = False,
    resolve: bool = False,
    storage_options: StorageOptions | None = None,
    **options: Unpack[SkippingKeywords],
) -> BatchTable:
    """Read the headers of all entries into an Arrow table, one row per entry. Nothing is decompressed.

    Args:
        source: see `decode`.
        check_crc: fill the column `isValid`; otherwise it is null, and only the headers of a `FileSource` are read.
        on_error: "raise" at an entry with an invalid length, or "skip" to the next valid entry and report a finding.
        strict_tail: raise TruncatedError if the source ends inside an entry.
        resolve: decompress messages of magic 0, 1 and Kafka 0.7 for their `baseOffset` and `count`.
        storage_options: options of the store of a URI; see `Log`.
        options: options of entries; see `decode`. Of `codecs`, only the aliases are used: the column `compression` contains them
            instead of `plugin:3`.

    Returns:
        A `BatchTable` with the columns of Kafka's dump tool: position, size (bytes), baseOffset, lastOffset, count, magic, attributes,
        compression, timestampType, baseTimestamp, maxTimestamp (ms), crc, isValid, producerId, producerEpoch, baseSequence,
        lastSequence, partitionLeaderEpoch, isTransactional, isControl, deleteHorizonMs. A wrong checksum does not raise. The header
        of a compressed message of magic 0 or 1 has its last offset only: `baseOffset` and `count` are null without `resolve`.

    Raises:
        RecordBatchError: if the length of an entry is invalid.

    Example:
        >>> import logsegment as ls
        >>> ls.batches(ls.FileSource("00000000000000000000.log")).column_names[:3]
        ['position', 'size', 'baseOffset']

    Source: `DumpLogSegments` in Kafka's tools.
    """
    own = {"check_crc": check_crc, "on_error": on_error, "strict_tail": strict_tail, "resolve": resolve}
    read = ReadOptions.of(SkippingKeywords, options, **own)
    return core_batch_stream(reached_source(source, storage_options), read).read_all()


def batch_stream(
    source: Any,
    *,
    check_crc: bool = True,
    on_error: OnError = "raise",
    strict_tail: bool = False,
    batch_size: int = 65536,
    resolve: bool = False,
    storage_options: StorageOptions | None = None,
    **options: Unpack[SkippingKeywords],
) -> RecordStream:
    """Read the headers of all entries as a stream: the rows of `batches`, in bounded memory.

    Args:
        source: see `decode`.
        check_crc: see `batches`.
        on_error: see `batches`.
        strict_tail: see `batches`.
        batch_size: approximate number of rows of an Arrow batch.
        resolve: decompress messages of magic 0, 1 and Kafka 0.7 for their `baseOffset` and `count`.
        storage_options: options of the store of a URI; see `Log`.
        options: options of entries; see `decode`. Of `codecs`, only the aliases are used: the column `compression` contains them
            instead of `plugin:3`.

    Returns:
        A `RecordStream` of batch rows.

    Raises:
        RecordBatchError: if the length of an entry is invalid.

    Example:
        >>> import logsegment as ls
        >>> sum(len(rows) for rows in ls.batch_stream(b""))
        0

    Source: `DumpLogSegments` in Kafka's tools.
    """
    own = {"check_crc": check_crc, "on_error": on_error, "strict_tail": strict_tail, "batch_size": batch_size, "resolve": resolve}
    return core_batch_stream(reached_source(source, storage_options), ReadOptions.of(SkippingKeywords, options, **own))


def with_findings(stream: RecordStream) -> Iterator[tuple[ArrowBatch | None, list[Finding]]]:
    """Yield the batches of a stream, each with the findings that came with it, and at the end None with the last ones."""
    seen = 0
    for rows in chain(stream, [None]):
        findings = stream.findings[seen:]
        seen += len(findings)
        yield rows, findings


def ensure_topic_names(options: ReadOptions, segments: Iterable[SegmentFile]) -> None:
    """Raise if records of internal topics are wanted and a segment lies in no directory of a topic.

    Raises:
        ValueError: if there is such a segment. Control records need no topic.
    """
    unknown = next((segment for segment in segments if segment.topic is None), None)
    if options.values == "internal" and unknown is not None and not options.control:
        hint = "pass topic= to logsegment.decode"
        raise ValueError(f"values: unknown internal topic of {redacted_uri(unknown.path)}; {hint}")


def warn_of_other_topics(options: ReadOptions, topics: Iterable[str | None], *, stacklevel: int = 3) -> None:
    """Warn if records of internal topics are wanted and no topic is one.

    Args:
        options: those of the read.
        topics: the topics that are read.
        stacklevel: as in `warnings.warn`.
    """
    named = dict.fromkeys(topics)
    is_wanted = options.values == "internal" and not options.control
    if is_wanted and not any(name is not None and is_internal_topic(name) for name in named) and (text := other_topics(named)):
        warnings.warn(f'values="internal": {text}', UserWarning, stacklevel=stacklevel)


def other_topics(topics: Iterable[str | None]) -> str | None:
    """Return a sentence about the topics that are not internal, or None if there are none."""
    others = [name for name in dict.fromkeys(topics) if name is not None and not is_internal_topic(name)]
    if not others:
        return None
    are = "is not an internal topic" if len(others) == 1 else "are not internal topics"
    return f"{listed(others, 3)} {are} of Kafka; `internal` is null in {'its' if len(others) == 1 else 'their'} records"


def _topic_of(source: Any) -> str | None:
    """Return the topic that the directory of a file is named after."""
    path = source.path if isinstance(source, FileSource) else source
    return SegmentFile.at(path).topic if isinstance(path, str | os.PathLike) else None
