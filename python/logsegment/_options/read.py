"""The options of calls that read: of entries, of records, of partitions, of stores."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self, get_args

from logsegment._core import Limits, Transactions, ValueSchemas
from logsegment._options.columns import COLUMNS, INTERNAL, with_values
from logsegment._options.keywords import EntryKeywords
from logsegment._options.table import Option
from logsegment._options.types import (
    Binary,
    CodecRegistry,
    Format,
    Isolation,
    LogStartOffset,
    OnBadValue,
    Quirk,
    SchemaSource,
    Unreadable,
    ensure_offsets,
    ensure_one_of,
    ensure_quirks,
)
from logsegment._options.value_kinds import Framing, Integers, KeyValues, Values, ensure_values
from logsegment._places import StorageOptions


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryOptions:
    """Options of every call that reads entries; `decode` documents each attribute."""

    format: Annotated[
        Format,
        Option(
            "Read this format. auto: each entry's own, 0.7 for *.kafka files; v3: also the proposal KIP-931; sniff: by the first entry.",
            cli="--format",
            spark="format",
            page="formats/v3.md",
        ),
    ] = "auto"
    base_position: Annotated[
        int | None, Option("Count positions of Kafka 0.7 from this one.", cli="--base-position", default="by the name of the file")
    ] = None
    quirks: Annotated[
        Collection[Quirk],
        Option(
            f"Accept this deviation of other writers, which Kafka refuses: {', '.join(get_args(Quirk))}; repeatable.",
            cli="--quirk NAME",
            spark="quirks",
            page="formats/lz4.md#quirks",
        ),
    ] = ()
    zstd_dictionaries: Annotated[
        Sequence[bytes] | None,
        Option(
            "Decompress with the trained zstd dictionary in FILE; repeatable.",
            cli="--zstd-dictionary FILE",
            spark="zstdDictionaries",
            page="formats/zstd.md",
        ),
    ] = None
    limits: Annotated[
        Limits | None,
        Option(
            "Set a limit of a batch, such as max_ratio=100000 or max_records=unlimited; repeatable.",
            cli="--limits NAME=VALUE",
            spark="limits.NAME",
            page="limits.md",
        ),
    ] = None
    codecs: Annotated[
        CodecRegistry | None,
        Option(
            "Use the plugin codecs of this registry, a JSON file.",
            cli="--registry FILE",
            spark="plugins.path",
            page="formats/plugins.md",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadOptions(EntryOptions):
    """How entries and records are read; `decode` documents each attribute that is an option.

    Other attributes are not options of `decode`. `times` are the first timestamp (ms) and the first one that is too late. `share` has the
    offsets of a read that shares a log with others: a batch whose header lies inside is read whole. `value_schemas` and `key_schemas` are
    what `_typed_values.planned` finds. `batches` documents `resolve`. `upload` has the offsets of the upload in tiered storage that the
    source is a copy of.

    Raises:
        TypeError: if `columns` is one string.
        ValueError: if `values` or a quirk is not a known name.
    """

    columns: Annotated[
        Sequence[str] | None,
        Option(
            "Select record columns, in this order.",
            cli="--columns NAME,...",
            spark="columns",
            default="those of Spark's Kafka source",
            page="columns.md",
        ),
    ] = None
    binary: Annotated[Binary, Option("Choose the Arrow type of keys, values and header values.")] = "binary"
    check_crc: Annotated[bool, Option("Compare the checksum of every entry.", cli="--no-crc", spark="checkCrc")] = True
    on_error: Annotated[
        OnBadValue,
        Option("Stop at damage (raise), or skip to the next valid batch and report the lost ranges (skip).", cli="--on-error raise|skip"),
    ] = "raise"
    unreadable: Annotated[
        Unreadable,
        Option(
            "At an undamaged batch without its plugin, over a limit, with a quirk or of v3: stop (raise), or report and skip it (skip).",
            cli="--unreadable",
            spark="unreadable",
            page="limits.md#a-limit-is-not-damage",
        ),
    ] = "raise"
    strict_tail: Annotated[bool, Option("Report a file that ends inside a batch as an error.", cli="--strict-tail")] = False
    isolation: Annotated[
        Isolation,
        Option("Leave out aborted transactions and records from the first open one on.", cli="--isolation", spark="isolation"),
    ] = "read_uncommitted"
    control: Annotated[bool, Option("Include control records, such as transaction markers.", cli="--control")] = False
    start_offset: Annotated[
        int | None, Option("Keep records at or after this offset.", cli="--offset A..B", spark="startingOffsets", default="the first")
    ] = None
    end_offset: Annotated[
        int | None, Option("Keep records before this offset.", cli="--offset A..B", spark="endingOffsets", default="the end")
    ] = None
    batch_size: Annotated[int, Option("Limit the rows of an Arrow batch.", spark="batchSize")] = 65536
    batch_bytes: Annotated[int, Option("Limit the bytes of keys, values and headers of an Arrow batch.", spark="batchBytes")] = 1 << 20
    topic: Annotated[
        str | None,
        Option(
            "Read only this topic; without partition directories, the topic's name.",
            cli="--topic NAME",
            spark="topic",
        ),
    ] = None
    partition: Annotated[
        int | None,
        Option("Read only this partition number; see --topic.", cli="--partition N", spark="partition"),
    ] = None
    threads: Annotated[int, Option("Decode and write with N threads.", cli="--threads N")] = 1
    null_headers: Annotated[bool, Option("Return null for records without headers, as Spark's Kafka source does.")] = False
    transactions: Annotated[
        Transactions | None, Option("Take the transactions of the partition from here, instead of a scan.", default="a scan")
    ] = None
    values: Annotated[
        Values,
        Option(
            "Show values as raw bytes, as fields (auto, avro, json, protobuf), by Kafka's serializers (string, long, int, short, float, "
            "double, uuid), or the fields of Kafka's internal topics.",
            cli="--values KIND",
            spark="values",
            page="../how-to/decode-values.md",
        ),
    ] = "raw"
    key_values: Annotated[
        KeyValues,
        Option(
            "The same for keys, and windowed(TYPE) or session(TYPE) for keys of Kafka Streams.",
            cli="--key-values KIND",
            spark="keyValues",
            page="../how-to/decode-values.md",
        ),
    ] = "raw"
    schemas: Annotated[
        SchemaSource | None,
        Option(
            "Schemas: a registry's log (_schemas-0) or URL, a directory of schema files, or the one schema of all values.",
            cli="--schemas PATH",
            spark="schemas.path",
            default="required for avro and protobuf",
        ),
    ] = None
    reader_schema: Annotated[
        Any,
        Option(
            "Read all values as this schema.",
            cli="--reader-schema FILE",
            spark="readerSchema",
            default="the newest version, or each as its own",
        ),
    ] = None
    framing: Annotated[
        Framing | None,
        Option(
            f"How a value names its schema: {', '.join(get_args(Framing))}.",
            cli="--framing NAME",
            spark="schemas.framing",
            default="detected",
            page="../how-to/decode-values.md#how-a-value-names-its-schema",
        ),
    ] = None
    integers: Annotated[
        Integers,
        Option(
            "Show an integer of JSON whose schema has no bounds as 64 bits, or as a decimal of 38 digits.",
            cli="--integers",
            spark="integers",
            default="int64",
            page="../how-to/decode-values.md#integers-above-64-bits",
        ),
    ] = "int64"
    key: Annotated[
        str | bytes | Sequence[str | bytes] | None,
        Option("Keep records with this text as the key; repeatable.", cli="--key TEXT"),
    ] = None
    resolve: Annotated[bool, Option("Decompress messages of magic 0, 1 and Kafka 0.7 for their base offset and count.")] = False
    share: tuple[int | None, int | None] = (None, None)
    times: tuple[int | None, int | None] = (None, None)
    value_schemas: ValueSchemas | None = None
    key_schemas: ValueSchemas | None = None
    upload: tuple[int, int | None] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.columns, str):
            raise TypeError(f'columns must be a sequence of names, not one string; write columns=["{self.columns}"]')
        if isinstance(self.schemas, str | os.PathLike):
            raise TypeError(
                f"schemas must be a set of schemas, not a path; write schemas=logsegment.schemas.from_path({os.fspath(self.schemas)!r})"
            )
        ensure_values("values", self.values, get_args(Values))
        ensure_values("key_values", self.key_values, get_args(KeyValues))
        if self.framing is not None:
            ensure_one_of("framing", self.framing, get_args(Framing))
        ensure_one_of("integers", self.integers, get_args(Integers))
        columns = None if self.columns is None else tuple(self.columns)
        if self.values != "raw" or self.key_values != "raw":
            columns = with_values(COLUMNS if columns is None else columns, self.values, self.key_values)
        object.__setattr__(self, "key", _keys(self.key))
        dictionaries = None if self.zstd_dictionaries is None else tuple(bytes(dictionary) for dictionary in self.zstd_dictionaries)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "quirks", ensure_quirks("quirks", self.quirks))
        object.__setattr__(self, "zstd_dictionaries", dictionaries)

    @classmethod
    def of(cls, keywords: type[EntryKeywords], given: Mapping[str, Any], **own: Any) -> Self:
        """Build the options of a call that takes `keywords`, and options of its own.

        Raises:
            TypeError: if an option is not among the keywords.
            ValueError: as `ensure_offsets`.
        """
        for name in given.keys() - keywords.__annotations__.keys():
            raise TypeError(f"got an unexpected keyword argument {name!r}")
        options = cls(**given, **own)
        ensure_offsets(options.start_offset, options.end_offset)
        return options

    def of_every_format(self) -> Self:
        """Return the options of a read of batches of every format of Kafka 0.8 and later, also of those that never shipped."""
        return replace(self, format="v3")

    @property
    def reads_proposed(self) -> bool:
        """True if batches of magic 3 are read, which never shipped."""
        return self.format == "v3"

    @property
    def bounds(self) -> tuple[int | None, int | None]:
        """The first offset of the batches that the read may need, and the first one after them; None for no bound."""
        return _most(self.start_offset, self.share[0]), _least(self.end_offset, self.share[1])

    def sharing(self, start: int | None, end: int | None) -> Self:
        """Return the options of a read that has only some offsets of those that this read has."""
        return replace(self, share=(_most(start, self.share[0]), _least(end, self.share[1])))

    @property
    def skips_damage(self) -> bool:
        """True if a read goes on after damage."""
        return self.on_error == "skip"

    @property
    def is_typed(self) -> bool:
        """True if keys or values are decoded with schemas."""
        return self.values not in ("raw", INTERNAL) or self.key_values != "raw"

    @property
    def has_internal(self) -> bool:
        """True if the column `internal` is built."""
        return INTERNAL in (self.columns or ())


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionOptions:
    """Options of every reader of partitions, which reads more than one file; `Log` documents each attribute.

    Attributes:
        log_start_offset: "honour" starts each partition at the log start offset that the checkpoint file of its log directory has: a broker
            has deleted the records below it. "ignore" reads these records too.
        replica: which directory is read of a partition that is in several; None for an error.

    Raises:
        ValueError: if `log_start_offset` is not a known name.
        TypeError: if `replica` is not a name or a path.
    """

    log_start_offset: Annotated[
        LogStartOffset,
        Option(
            "Include records below the log start offset, which were deleted (log-start-offset-checkpoint).",
            cli="--ignore-log-start-offset",
            spark="logStartOffset",
            page="findings.md#seg-19",
        ),
    ] = "honour"
    replica: Annotated[
        str | os.PathLike[str] | None,
        Option(
            "Of a partition in several directories read the longest log, the first directory, or the one at PATH.",
            cli="--replica longest|first|PATH",
            spark="replica",
            default="an error",
        ),
    ] = None

    def __post_init__(self) -> None:
        ensure_one_of("log_start_offset", self.log_start_offset, get_args(LogStartOffset))
        if self.replica is not None and not isinstance(self.replica, str | os.PathLike):
            raise TypeError(f'replica must be "longest", "first" or the path of a directory, not {type(self.replica).__name__}')


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreOptions:
    """Options of a path in a store or in tiered storage; `Log` documents each attribute."""

    storage_options: Annotated[
        StorageOptions | None,
        Option(
            "Set an option of the store, by its name in object_store, such as aws_region=eu-west-1; repeatable.",
            cli="--storage-option KEY=VALUE",
            spark="storage.KEY",
            page="../how-to/read-object-stores.md#credentials-and-options",
        ),
    ] = None
    decryption_keys: Annotated[
        Mapping[str, Any] | None,
        Option(
            "Decrypt with the RSA private key of this id (PKCS#8, PEM or DER); repeatable.",
            cli="--key-file ID=FILE",
            spark="keys",
            page="../how-to/read-tiered-storage.md",
        ),
    ] = None
    layout: Annotated[
        str | None,
        Option(
            "Read plain segments with other names, such as '{topic}/{partition}/{offset:020}-{id}.log'.",
            cli="--layout TEMPLATE",
            spark="layout",
            page="../how-to/read-tiered-storage.md#read-objects-with-other-names",
        ),
    ] = None


def _keys(given: str | bytes | Sequence[str | bytes] | None) -> tuple[bytes, ...] | None:
    if given is None:
        return None
    keys = [given] if isinstance(given, str | bytes) else given
    return tuple(key.encode("utf-8", "surrogateescape") if isinstance(key, str) else bytes(key) for key in keys)


def _most(*bounds: int | None) -> int | None:
    return max((bound for bound in bounds if bound is not None), default=None)


def _least(*bounds: int | None) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)


#: The options of `ReadOptions.of_every_format`, and otherwise the defaults.
EVERY_FORMAT: ReadOptions = ReadOptions().of_every_format()
