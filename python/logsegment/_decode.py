"""Records and batch headers of one source: `decode`, `batches`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from logsegment._core import ArrowTable, Limits, RecordStream, Transactions
from logsegment._core import batch_stream as core_batch_stream
from logsegment._core import decode as core_decode
from logsegment._options import Binary, Decode, Format, Isolation, OnError, dictionaries
from logsegment.plugins.registry import resolver
from logsegment.segment_files.internal_topics import INTERNAL, columns_with, topic_of, warn_of_others

if TYPE_CHECKING:
    from logsegment.plugins import Registry

#: What `batches` gives: Arrow record batches in memory.
BatchTable = ArrowTable


def decode(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    binary: Binary = "binary",
    check_crc: bool = True,
    on_error: OnError = "raise",
    strict_tail: bool = False,
    isolation: Isolation = "read_uncommitted",
    control: bool = False,
    start_offset: int | None = None,
    end_offset: int | None = None,
    batch_size: int = 65536,
    batch_bytes: int = 1 << 20,
    topic: str | None = None,
    partition: int | None = None,
    threads: int = 1,
    format: Format = "auto",
    experimental: bool = False,
    base_position: int | None = None,
    lz4_in_07: bool = False,
    ignore_lz4_header_checksum: bool = False,
    allow_dependent_lz4_blocks: bool = False,
    zstd_dictionaries: Sequence[bytes] | None = None,
    codecs: Registry | None = None,
    limits: Limits | None = None,
    null_headers: bool = False,
    transactions: Transactions | None = None,
    decode: Decode | None = None,
) -> RecordStream:
    """Decode record batches into a stream of Arrow columns, one row per record.

    Immutable buffers are borrowed: with ``binary="binary_view"`` the values of uncompressed batches point into the caller's memory.
    Mutable buffers are copied piece by piece. The GIL is released while native code works.

    Args:
        source: a buffer (bytes, memoryview, mmap, numpy, pyarrow.Buffer), a `FileSource`, or a binary file object, whole entries
            from its first byte on.
        columns: names of the record columns to build, in this order; None for key, value, topic, partition, offset, timestamp,
            timestampType, headers. Others: headersRaw, timestampMs, attributes, producerId, producerEpoch, sequence,
            partitionLeaderEpoch, isTransactional, isControl, controlType, magic, compression, batchBaseOffset, entryPosition,
            indexInEntry, internal. What is not named is not built.
        binary: Arrow type of keys, values and header values.
        check_crc: compare the checksum of every entry.
        on_error: "raise" ends the stream at the first damage, after the records before it; "skip" goes on at the next intact
            entry and leaves a finding.
        strict_tail: raise TruncatedError when the source ends inside an entry; otherwise that is a finding.
        isolation: "read_committed" leaves out aborted transactions, and everything from the first open transaction on. It needs a
            source that can be read twice, or `transactions`. A marker counts when its checksum matches, whatever `check_crc` says; a batch
            whose marker may be damaged or lost is damage itself (TRX-5), which `on_error` is about.
        control: give the records of control batches too (transaction markers, KRaft).
        start_offset: first offset wanted (inclusive), per record.
        end_offset: first offset not wanted (exclusive), per record.
        batch_size: most rows of an Arrow batch.
        batch_bytes: about how many bytes of keys, values and headers an Arrow batch holds; a larger record stands alone.
        topic: value of the column `topic`.
        partition: value of the column `partition`.
        threads: threads that decode; 1 is the calling thread, as it is always with `codecs`. Threads start with the first batch.
            A forked child cannot continue a stream whose threads its parent started (ValueError); it opens its own.
        format: "auto" takes magic 0, 1 and 2 of Kafka 0.8 and later, told apart entry by entry, and reads a `FileSource` whose name ends
            with `.kafka` as Kafka 0.7; "0.7", "v0" to "v3" take that format only; "sniff" looks at the first entry and decides
            between Kafka 0.7 and later.
        experimental: read batches of magic 3 too, a proposal that never shipped (KIP-931). Without it they are an UnsupportedError, unless
            `format` names "v3", which leaves a finding instead.
        base_position: for Kafka 0.7, whose offsets are positions: where the first byte of the file stands in its partition; None for what
            the name of a `.kafka` file says, and 0 without one. There, `offset` is the position after a message, and that of its wrapper
            for all messages of a wrapper but the last: not unique. `entryPosition` and `indexInEntry` tell them apart; `start_offset` and
            `end_offset` are held against the positions where entries start.
        lz4_in_07: take codec 3 of Kafka 0.7 as LZ4, which no release of it wrote.
        ignore_lz4_header_checksum: read LZ4 frames of magic 1 and 2 whatever their header checksum is, as those of magic 0 always are.
        allow_dependent_lz4_blocks: read LZ4 frames whose blocks depend on each other, which brokers refuse; `validate` tells them.
        zstd_dictionaries: the bytes of trained dictionaries; zstd frames that name one of them are decoded with it.
        codecs: a registry of plugins (`logsegment.plugins`), which unpack the batches that name them. It names code that is imported:
            trust it as the Python path.
        limits: what an entry may claim; None for `Limits()`.
        null_headers: null instead of an empty list for records without headers, as Spark's Kafka source gives them.
        transactions: aborted and open transactions of the partition, from `scan_transactions`.
        decode: "internal" adds the column `internal`: what records of Kafka's internal topics and control records say. Which topic it is
            says `topic`, or the directory that a `FileSource` lies in. Naming the column in `columns` does the same, and gives null where
            nothing says it. It is a struct of `type` (Kafka's name), `version` (of the value), `key` and `value` (JSON text, null for
            null); of records of other topics it is null, of which `decode` warns. What no table has is given as bytes,
            `{"base64": ...}`, with a finding INT-1; bytes that are not what their table says too, with INT-2.

    Returns:
        A `RecordStream`. `timestamp` is timestamp[us, UTC]; -1 is 1969-12-31T23:59:59.999Z, and null stands for what does not fit.

    Raises:
        RecordBatchError: from the stream, when bytes are bad; the class says how, the attributes where. Of a `FileSource` the text begins
            with the file, and `path` is it.
        ValueError, TypeError: for arguments that are none.
        OSError: when the file cannot be read.

    Example:
        >>> import logsegment as ls
        >>> data = open("00000000000000000000.log", "rb").read()
        >>> ls.decode(data, columns=["offset", "value"], end_offset=2).to_pyarrow().num_rows
        2

    Source: KIP-98; `DefaultRecordBatch`, `DefaultRecord` and `CompletedFetch` in Kafka's clients.
    """
    chosen = columns_with(decode, columns)
    if chosen and INTERNAL in chosen and topic is None:
        topic = topic_of(source)
        if topic is None and decode is not None and not control:
            raise ValueError('decode: which internal topic the records are of is not known; say topic="__consumer_offsets", for example')
    warn_of_others(decode, [topic], control=control)
    options = {
        "columns": chosen,
        "binary": binary,
        "check_crc": check_crc,
        "on_error": on_error,
        "strict_tail": strict_tail,
        "isolation": isolation,
        "control": control,
        "start_offset": start_offset,
        "end_offset": end_offset,
        "batch_size": batch_size,
        "batch_bytes": batch_bytes,
        "topic": topic,
        "partition": partition,
        "threads": threads,
        "format": format,
        "experimental": experimental,
        "base_position": base_position,
        "lz4_in_07": lz4_in_07,
        "ignore_lz4_header_checksum": ignore_lz4_header_checksum,
        "allow_dependent_lz4_blocks": allow_dependent_lz4_blocks,
        "zstd_dictionaries": dictionaries(zstd_dictionaries),
        "codecs": resolver(codecs),
        "limits": limits,
        "null_headers": null_headers,
        "transactions": transactions,
    }
    return core_decode(source, options)


def batches(
    source: Any,
    *,
    check_crc: bool = True,
    on_error: OnError = "raise",
    strict_tail: bool = False,
    format: Format = "auto",
    experimental: bool = False,
    base_position: int | None = None,
    resolve: bool = False,
    lz4_in_07: bool = False,
    ignore_lz4_header_checksum: bool = False,
    allow_dependent_lz4_blocks: bool = False,
    codecs: Registry | None = None,
    limits: Limits | None = None,
) -> BatchTable:
    """Read the headers of all entries into an Arrow table, one row per entry. Nothing is decompressed.

    Args:
        source: as in `decode`.
        check_crc: fill the column `isValid`; otherwise it is null, and of a `FileSource` nothing but the headers is read.
        on_error: "raise" at what cannot be framed, or "skip" to the next intact entry and leave a finding.
        strict_tail: raise TruncatedError when the source ends inside an entry.
        format: as in `decode`.
        experimental: as in `decode`.
        base_position: as in `decode`.
        resolve: unpack compressed messages of magic 0, 1 and Kafka 0.7 for their `baseOffset` and `count`.
        lz4_in_07: as in `decode`, where messages are unpacked.
        ignore_lz4_header_checksum: as in `decode`, where messages are unpacked.
        allow_dependent_lz4_blocks: as in `decode`, where messages are unpacked.
        codecs: as in `decode`; here it only tells the aliases in the column `compression`, which otherwise says `plugin:3`.
        limits: as in `decode`.

    Returns:
        A `BatchTable` with the columns of Kafka's dump tool: position, size (bytes), baseOffset, lastOffset, count, magic, attributes,
        compression, timestampType, baseTimestamp, maxTimestamp (ms), crc, isValid, producerId, producerEpoch, baseSequence,
        lastSequence, partitionLeaderEpoch, isTransactional, isControl, deleteHorizonMs. A wrong checksum does not raise. Of a compressed
        message of magic 0 or 1 only its last offset is known without unpacking: `baseOffset` and `count` are null unless `resolve`
        is said.

    Raises:
        RecordBatchError: when bytes cannot be framed.

    Example:
        >>> import logsegment as ls
        >>> ls.batches(ls.FileSource("00000000000000000000.log")).column_names[:3]
        ['position', 'size', 'baseOffset']

    Source: `DumpLogSegments` in Kafka's tools.
    """
    stream = batch_stream(
        source,
        check_crc=check_crc,
        on_error=on_error,
        strict_tail=strict_tail,
        format=format,
        experimental=experimental,
        base_position=base_position,
        resolve=resolve,
        lz4_in_07=lz4_in_07,
        ignore_lz4_header_checksum=ignore_lz4_header_checksum,
        allow_dependent_lz4_blocks=allow_dependent_lz4_blocks,
        codecs=codecs,
        limits=limits,
    )
    return stream.read_all()


def batch_stream(
    source: Any,
    *,
    check_crc: bool = True,
    on_error: OnError = "raise",
    strict_tail: bool = False,
    batch_size: int = 65536,
    format: Format = "auto",
    experimental: bool = False,
    base_position: int | None = None,
    resolve: bool = False,
    lz4_in_07: bool = False,
    ignore_lz4_header_checksum: bool = False,
    allow_dependent_lz4_blocks: bool = False,
    codecs: Registry | None = None,
    limits: Limits | None = None,
) -> RecordStream:
    """Read the headers of all entries as a stream: the rows of `batches`, in bounded memory.

    Args:
        source: as in `decode`.
        check_crc: as in `batches`.
        on_error: as in `batches`.
        strict_tail: as in `batches`.
        batch_size: about how many rows an Arrow batch holds.
        format: as in `decode`.
        experimental: as in `decode`.
        base_position: as in `decode`.
        resolve: unpack compressed messages of magic 0, 1 and Kafka 0.7 for their `baseOffset` and `count`.
        lz4_in_07: as in `decode`, where messages are unpacked.
        ignore_lz4_header_checksum: as in `decode`, where messages are unpacked.
        allow_dependent_lz4_blocks: as in `decode`, where messages are unpacked.
        codecs: as in `decode`; here it only tells the aliases in the column `compression`, which otherwise says `plugin:3`.
        limits: as in `decode`.

    Returns:
        A `RecordStream` of batch rows.

    Raises:
        RecordBatchError: when bytes cannot be framed.

    Example:
        >>> import logsegment as ls
        >>> sum(len(rows) for rows in ls.batch_stream(b""))
        0

    Source: `DumpLogSegments` in Kafka's tools.
    """
    options = entry_options(
        check_crc=check_crc,
        on_error=on_error,
        strict_tail=strict_tail,
        batch_size=batch_size,
        format=format,
        experimental=experimental,
        base_position=base_position,
        resolve=resolve,
        lz4_in_07=lz4_in_07,
        ignore_lz4_header_checksum=ignore_lz4_header_checksum,
        allow_dependent_lz4_blocks=allow_dependent_lz4_blocks,
        codecs=codecs,
        limits=limits,
    )
    return core_batch_stream(source, options)


def entry_options(**options: Any) -> dict[str, Any]:
    """Options of the core's verbs about entries, with defaults for those that a verb does not have."""
    defaults: dict[str, Any] = {
        "check_crc": True,
        "on_error": "raise",
        "strict_tail": False,
        "batch_size": 65536,
        "format": "auto",
        "experimental": False,
        "base_position": None,
        "resolve": False,
        "lz4_in_07": False,
        "ignore_lz4_header_checksum": False,
        "allow_dependent_lz4_blocks": False,
        "zstd_dictionaries": None,
        "codecs": None,
        "limits": None,
    }
    taken = defaults | options
    return taken | {"zstd_dictionaries": dictionaries(taken["zstd_dictionaries"]), "codecs": resolver(taken["codecs"])}
