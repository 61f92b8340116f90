"""Options that several verbs share. Those of entries, of records, of partitions and of stores are declared in `logsegment._options`."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast

import click

from logsegment import Limits
from logsegment._options import EntryKeywords, EntryOptions, Format, Quirk, ensure_ordered
from logsegment.cli.arguments import Made, VerbOption
from logsegment.cli.arguments import bind_args as bind_args
from logsegment.cli.messages import say
from logsegment.cli.number_types import ParamType as ParamType
from logsegment.cli.plugin_registries import RegistryArguments
from logsegment.cli.redaction import LEAST_KEY_BYTES, Redactor
from logsegment.cli.value_types import InstantType

#: Where a key is looked for that no file gives.
VARIABLE = "LOGSEGMENT_REDACT_KEY"

#: Fields of the arguments of verbs.
Quiet: TypeAlias = Annotated[bool, VerbOption("Print errors only, no progress and no notes.", "-q --quiet")]
Iso: TypeAlias = Annotated[bool, VerbOption("Write times in JSON in ISO 8601 instead of milliseconds.", "--iso")]
Now: TypeAlias = Annotated[
    int | None,
    VerbOption("Count relative times such as -2h from TIME.", "--now", default="now", kind=InstantType(), is_eager=True),
]
Resume: TypeAlias = Annotated[
    bool, VerbOption("Keep finished partitions at an interruption, and take those of an earlier run with the same options.", "--resume")
]
Overwrite: TypeAlias = Annotated[bool, VerbOption("Replace an existing output file.", "--overwrite")]
Arrow: TypeAlias = Annotated[
    str | None, VerbOption("Write an Arrow IPC file (needs pyarrow).", "--arrow FILE", kind=click.Path(dir_okay=False))
]
Parquet: TypeAlias = Annotated[
    str | None, VerbOption("Write a Parquet file (needs pyarrow).", "--parquet FILE", kind=click.Path(dir_okay=False))
]
FailOn: TypeAlias = Annotated[Literal["error", "warning"], VerbOption("Exit with 1 from this severity on.", "--fail-on")]
NoCrc: TypeAlias = Annotated[bool, VerbOption("Skip checksums.", "--no-crc")]
IsRedacted: TypeAlias = Annotated[bool, VerbOption("Show keys, values and header values as length and keyed hash.", "--redact")]
RedactKey: TypeAlias = Annotated[
    str | None,
    VerbOption(
        f"Hash with the key in FILE, at least {LEAST_KEY_BYTES} bytes, or with {VARIABLE}; implies --redact.",
        "--redact-key FILE",
        default="random",
        kind=click.Path(),
    ),
]
TargetOption: TypeAlias = Annotated[
    tuple[str, ...],
    VerbOption(
        "Set a property of the catalog of a table, or an option of the store of a Delta table; repeatable.", "--target-option KEY=VALUE"
    ),
]
#: Of a verb that shows where records are, and no records; see `withholding`.
HidesMessages: TypeAlias = Annotated[bool, VerbOption("Hide the details of damage, which may contain parts of a payload.", "--redact")]
Codecs: TypeAlias = Annotated[Any, Made(RegistryArguments, RegistryArguments.codecs)]


@dataclass(frozen=True, kw_only=True)
class EntryArguments:
    """The options of entries; a registry has several of the command line."""

    format: Annotated[Format, EntryOptions]
    quirks: Annotated[tuple[Quirk, ...], EntryOptions]
    zstd_dictionaries: Annotated[list[bytes] | None, EntryOptions]
    limits: Annotated[Limits | None, EntryOptions]
    codecs: Codecs

    def keywords(self) -> EntryKeywords:
        """Return the options as functions take them."""
        return cast("EntryKeywords", {field.name: getattr(self, field.name) for field in fields(self)})


#: The options of entries that a verb reads with.
Reading: TypeAlias = Annotated[EntryKeywords, Made(EntryArguments, EntryArguments.keywords)]


@dataclass(frozen=True)
class Output:
    """Where rows go: a file of this kind, or stdout."""

    kind: str | None = None
    path: str = ""
    overwrite: bool = False


def examples(*lines: str) -> str:
    """Return the end of a help text: commands as they are typed, not wrapped."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def ensure_iso_of_json(iso: bool, is_json: bool) -> None:
    """Fail for --iso of a verb that writes JSON with --json alone."""
    if iso and not is_json:
        raise click.UsageError("--iso is about --json, which is not given")


def ensure_times(since: int | None, until: int | None) -> None:
    """Fail for --since after --until."""
    try:
        ensure_ordered(since, until, ("--since", "--until"))
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def output_of(arrow: str | None, parquet: str | None, overwrite: bool, *, is_json: bool) -> Output:
    """Return the output that was asked for.

    Raises:
        click.UsageError: when there are several.
    """
    asked = [Output("arrow", arrow, overwrite)] if arrow else []
    asked += [Output("parquet", parquet, overwrite)] if parquet else []
    if len(asked) + is_json > 1:
        raise click.UsageError("only one of --json, --arrow and --parquet can be given")
    return asked[0] if asked else Output()


def withholding(is_redacted: bool) -> Redactor | None:
    """Return a redactor that hides messages. Nothing is hashed, so its key does not matter."""
    return Redactor(secrets.token_bytes(LEAST_KEY_BYTES)) if is_redacted else None


def redactor_of(is_redacted: bool, path: str | None, *, quiet: bool = False) -> Redactor | None:
    """Return what replaces payloads, or None if they are shown.

    Raises:
        OSError: when the file cannot be read.
        click.UsageError: when the key is too short.
    """
    if not is_redacted and path is None:
        return None
    place, key = _key(path)
    if key is None:
        if not quiet:
            say("hashes have a random key and are comparable within this output only; pass --redact-key FILE for repeatable hashes")
        key = secrets.token_bytes(32)
    try:
        return Redactor(key)
    except ValueError as mistake:
        raise click.UsageError(f"{place}: {mistake}") from None


def _key(path: str | None) -> tuple[str, bytes | None]:
    """Return the name of the place of the key, and the key without its line end."""
    if path is not None:
        return f"--redact-key {path}", _line(Path(path).read_bytes())
    text = os.environ.get(VARIABLE)
    return VARIABLE, None if text is None else _line(os.fsencode(text))


def _line(key: bytes) -> bytes:
    return key.removesuffix(b"\n").removesuffix(b"\r")
