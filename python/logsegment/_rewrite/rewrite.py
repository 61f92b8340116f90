"""Erase, filter and mask records of a log, as the log cleaner of a broker keeps its batches: `rewrite`."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, BinaryIO, Unpack

from logsegment._core import FileSource, PartitionEnd, SegmentFile, ensure_log_segment
from logsegment._options import CompressionName, EntryKeywords, LogStartOffset, MaskWith, PartitionOptions, ReadOptions
from logsegment._output import PATHS, ensure_apart, output_directory, staged_output
from logsegment._places import is_stored, redacted_uri, to_internal_uri
from logsegment._rewrite.account import Rewrite, RewrittenFile
from logsegment._rewrite.partitions import RewriteOptions, RewriteWork, rewrite_partitions, snapshot_before, sources_of
from logsegment._rewrite.selection import Keys, Selection, core_selection
from logsegment._storage import Keys as PrivateKeys
from logsegment._storage import StorageOptions, reached_source
from logsegment.inputs.input_segment import STREAM_NAME, opened
from logsegment.inputs.observer import Observer
from logsegment.inputs.sources import Inputs, inputs_of, is_of_files
from logsegment.segment_files.discovery import Topics, size_of

MASKS = ("null", "empty", "hash")
#: A shorter key could be tried out, and with it every value that can be guessed.
LEAST_KEY_BYTES = 16


def rewrite(
    source: Any,
    out: str | os.PathLike[str] | BinaryIO | None = None,
    *,
    keep: Selection | Keys | None = None,
    drop: Selection | Keys | None = None,
    tombstone: Selection | Keys | None = None,
    mask: Selection | Keys | None = None,
    mask_with: MaskWith = "empty",
    mask_key: bytes | None = None,
    compression: CompressionName | None = None,
    allow_loss: bool = False,
    allow_lower_end: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
    log_start_offset: LogStartOffset = "honour",
    topic: Topics = None,
    partition: int | None = None,
    replica: str | os.PathLike[str] | None = None,
    decryption_keys: PrivateKeys | None = None,
    storage_options: StorageOptions | None = None,
    layout: str | None = None,
    observer: Observer | None = None,
    **options: Unpack[EntryKeywords],
) -> Rewrite:
    """Write a log without some of its records, or without their values, as the log cleaner of a broker would.

    Batches that keep all their records are copied byte for byte. A batch that loses records keeps its base and last offset, producer,
    sequences, timestamp type, flags, codec and delete horizon, so that offsets do not change and producers go on. A batch that loses all
    its records goes, unless it is the last batch of the partition, the last batch of a producer, or the first batch of an open
    transaction: these stay without records. Control batches, such as transaction markers, always stay. Records of a wrapper of magic 0
    or 1 keep their offsets.

    The source is read twice and never written to. It must not be written to meanwhile. Memory is bounded, whatever the size of the log:
    for each key its bytes and 13 to 21 more, about 40 MiB of batches, and about 400 bytes for each listed range, of which there are at most
    1,048,576 for each file. The GIL is released.

    Args:
        source: a file, a partition directory or a tree of them, also in a store or in tiered storage; a pattern (`orders-*`), a `Log`, a
            `Segment`, a `FileSource` or a buffer; or a list of these.
        out: a path. A file becomes one file without sidecar files. A directory becomes a new directory with a directory for each
            partition, with indexes, snapshots and the leader epoch checkpoint. A binary file object takes the bytes of one file; None
            returns them.
        keep: drop all other records. Keys (a list, an Arrow array, or the path of a file with one key a line), a `Selection`, or an
            expression of pyarrow over the columns of `decode`, such as `pc.field("offset") < 10`. A record for which the expression is
            null is not selected. An expression needs pyarrow, one more pass over the source, and 16 bytes for each run of selected records.
        drop: drop these records, likewise.
        tombstone: replace the values of these records by null, likewise.
        mask: replace the values of these records by a mask, likewise. Null stays null.
        mask_with: "empty" for no bytes, "null", or "hash" for 24 hexadecimal digits of HMAC-SHA-256, the hash that `--redact` shows.
        mask_key: the secret of the hash, at least 16 bytes.
        compression: codec of the batches that are written anew; None keeps the codec of each batch.
        allow_loss: rewrite logs of Kafka 0.7, where offsets are positions, so that later messages get other offsets.
        allow_lower_end: let the last entry of a partition go where it loses all its records and its format (magic 0 and 1) has no empty
            entries: the log end offset falls.
        overwrite: replace an existing file. A directory is never replaced.
        dry_run: return the account, and write nothing.
        log_start_offset: "honour" deletes the records of directories below their log start offsets, as `Log` does; "ignore" keeps them.
        topic: of directories, only the partitions of this topic, or of these.
        partition: of directories, only partitions of this number.
        replica: which directory is read of a partition that is in several; see `Log`.
        decryption_keys: see `Segment`.
        storage_options: options of the store of URIs; see `Log`.
        layout: template of the names of objects of tiered storage; see `Log`.
        observer: gets the `RewrittenFile` of each file as soon as it is written; see `Observer`.
        options: options of entries; see `decode`.

    Returns:
        A `Rewrite`, with what became of every byte.

    Raises:
        LossError: if something would be lost that is not allowed; nothing is written.
        RecordBatchError: if the source is damaged (`salvage` saves what is valid); nothing is written.
        ValueError, TypeError: if an argument is invalid.
        FileExistsError: if the output exists and is not to be replaced.
        OSError: if a file cannot be read or written.

    Example:
        >>> import logsegment as ls
        >>> source = ls.FileSource("00000000000000000000.log")
        >>> done = ls.rewrite(source, drop=["user-17", b"user-18"])
        >>> [byte_range.action for byte_range in done.files[0].ranges][:1], done.files[0].is_unchanged
        (['copied'], False)
        >>> import pyarrow.compute as pc
        >>> large = pc.binary_length(pc.field("value")) > 60
        >>> ls.rewrite(source, tombstone=large, dry_run=True).tombstoned
        162

    Source: `MemoryRecords.filterTo` and `Cleaner` in Kafka; KIP-534 for the delete horizon.
    """
    how = RewriteOptions(
        keep=core_selection(keep),
        drop=core_selection(drop),
        tombstone=core_selection(tombstone),
        mask=core_selection(mask),
        mask_with=mask_with,
        mask_key=mask_key,
        compression=compression,
        allow_loss=allow_loss,
        allow_lower_end=allow_lower_end,
    )
    ensure_meant(how)
    work = observed_work(RewriteWork(ReadOptions.of(EntryKeywords, options), how, dry_run), observer)
    access = (storage_options, decryption_keys, layout)
    is_selected = any(option is not None for option in (topic, partition, replica, *access[1:]))
    if not is_of_files(source, access, is_selected=is_selected):
        if is_selected:
            raise TypeError(f"topic, partition, replica, decryption_keys and layout belong to paths, not to {type(source).__name__}")
        return _file(reached_source(source, storage_options), out, work, overwrite=overwrite)
    inputs = inputs_of(
        source,
        access,
        selection=(topic, None if partition is None else int(partition)),
        options=PartitionOptions(log_start_offset=log_start_offset, replica=replica),
        observer=observer,
    )
    inputs.ensure_segments(options)
    findings = inputs.observed(observer)
    if inputs.is_directory:
        return Rewrite(*_directory(inputs, out, work), dry_run, partition_findings=findings)
    if len(inputs.segments) > 1:
        raise ValueError("several files cannot become one file; pass a directory, or one file at a time")
    with opened(inputs.segments[0], is_read_twice=True) as opened_source:
        return _file(opened_source, out, work, overwrite=overwrite)


def observed_work(work: RewriteWork, observer: Observer | None) -> RewriteWork:
    """Return the work with calls of an observer."""
    if observer is None:
        return work
    return replace(
        work,
        begun=lambda file: observer.begin(redacted_uri(file.path), size_of(file)),
        done=lambda account: observer.done(account.source or STREAM_NAME, account),
    )


def ensure_meant(how: RewriteOptions) -> None:
    """Raise an error for options that contradict each other or do nothing.

    Raises:
        ValueError, TypeError: naming them.
    """
    if how.keep is how.drop is how.tombstone is how.mask is None:
        raise ValueError("nothing to do: give keep, drop, tombstone or mask")
    if how.mask_with not in MASKS:
        raise ValueError(f"mask_with must be {', '.join(map(repr, MASKS[:-1]))} or {MASKS[-1]!r}, not {how.mask_with!r}")
    if how.mask_key is not None and not isinstance(how.mask_key, bytes):
        raise TypeError(f"mask_key must be bytes, not {type(how.mask_key).__name__}")
    if how.mask_with == "hash" and len(how.mask_key or b"") < LEAST_KEY_BYTES:
        raise ValueError(f'mask_with="hash" needs a mask_key of at least {LEAST_KEY_BYTES} bytes')
    if how.mask_with != "hash" and how.mask_key is not None:
        raise ValueError('mask_key is the secret of mask_with="hash"')


def _file(source: Any, out: Any, work: RewriteWork, *, overwrite: bool) -> Rewrite:
    before, name = None, None
    if isinstance(source, PATHS) or (isinstance(source, FileSource) and not source.start and source.end is None):
        file = SegmentFile.at(source.path if isinstance(source, FileSource) else source)
        ensure_log_segment(file.path)
        work.begun(file)
        (source,), before, name = sources_of([file]), snapshot_before(file), redacted_uri(file.path)
    elif isinstance(source, FileSource):
        name = redacted_uri(os.fspath(source.path))
    ensure_apart(source, out=out)
    end = PartitionEnd([source], work.read, before)
    place = os.fspath(out) if isinstance(out, PATHS) else None
    if work.is_dry:
        return Rewrite([work.file(source, end, None, (name, None))[1]], None, True)
    with staged_output(out, overwrite=overwrite) as output:
        data, account = work.file(source, end, output.target, (name, place))
    return Rewrite([account], place, False, data)


def _directory(inputs: Inputs, out: Any, work: RewriteWork) -> tuple[list[RewrittenFile], str | None]:
    files = inputs.files
    if len(files) != len(inputs.segments):
        raise ValueError("a stream cannot be read together with directories")
    if work.is_dry:
        return rewrite_partitions(files, work, None, None), None
    place = new_directory(out, inputs)
    with output_directory(place) as hidden:
        return rewrite_partitions(files, work, hidden, place), place


def new_directory(out: Any, inputs: Inputs) -> str:
    """Return the path of a new directory for the segments of directories.

    Raises:
        TypeError: if it is not a path.
        ValueError: if it would be inside a source, which is never written to.
    """
    if not isinstance(out, PATHS):
        raise TypeError("a directory needs the path of a new directory as out")
    place = os.fspath(out)
    for path in inputs.paths:
        ensure_outside(place, path)
    return place


def ensure_outside(out: str, source: str | os.PathLike[str]) -> None:
    """Raise an error if an output directory would be inside a source, which is never written to.

    Raises:
        ValueError: if it would.
    """
    place = to_internal_uri(source)
    if is_stored(place):
        return
    inside, outside = os.path.realpath(out), os.path.realpath(place)
    if os.path.commonpath([inside, outside]) == outside:
        raise ValueError(f"{out} is inside the source {place}, which is never written to")
