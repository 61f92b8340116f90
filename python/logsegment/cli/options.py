"""Define the argument types and options that several verbs share."""

from __future__ import annotations

import base64
import binascii
import functools
import os
import re
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from logsegment._core import Limits
from logsegment._options import (
    INTERNAL,
    KEY_COLUMNS,
    RAW_COLUMNS,
    VALUE_COLUMNS,
    EntryKeywords,
    PartitionOptions,
    ensure_ordered,
    is_of_keys,
    is_of_values,
    milliseconds,
    parsed_time,
)
from logsegment.analysis.redaction import LEAST_KEY_BYTES, Redactor
from logsegment.cli.messages import say
from logsegment.cli.number_types import LimitType, whole
from logsegment.cli.number_types import ParamType as ParamType
from logsegment.cli.plugin_registries import codecs_options
from logsegment.cli.store_options import key_file_option, keyed, keyed_path

A = TypeVar("A")
F = TypeVar("F", bound=Callable[..., Any])
#: The options of entries that a verb reads with: those that its `*reading_options` add.
Reading: TypeAlias = EntryKeywords

#: All record columns, as `logsegment.decode` names them.
RECORD_COLUMNS = (*RAW_COLUMNS, INTERNAL, *VALUE_COLUMNS, *KEY_COLUMNS)


class Offsets(NamedTuple):
    """Offsets from `start` (inclusive) to `end` (exclusive); None where there is no bound."""

    start: int | None = None
    end: int | None = None


class OffsetsType(ParamType):
    """`A..B`, `A..`, `..B`, or `A` for one offset."""

    name = "A..B"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Offsets:
        """Parse the text."""
        if isinstance(value, Offsets):
            return value
        single = re.fullmatch(r"\d+", value)
        bounds = re.fullmatch(r"(\d*)\.\.(\d*)", value)
        if single:
            return Offsets(_offset(self, value), _offset(self, value) + 1)
        if not bounds or value == "..":
            self.fail(f"{value!r} is not A..B (from A to before B), A.., ..B, or one offset")
        start, end = (_offset(self, bound) if bound else None for bound in bounds.groups())
        if start is not None and end is not None and start > end:
            self.fail(f"{value!r} ends before it starts")
        return Offsets(start, end)


class ShareType(ParamType):
    """A share: `5%`, `0.05`."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share, above 0 and at most 1."""
        text = str(value)
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = 0.0
        if not 0 < share <= 1:
            self.fail(f"{text} is not a share above 0% and at most 100%", param, ctx)
        return share


class InstantType(ParamType):
    """A time as milliseconds since 1970: written so, in ISO 8601 (UTC when it names no zone), or relative to now (`-2h`)."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse the text. Between two milliseconds the later one is meant, so that no earlier record is taken in."""
        if isinstance(value, int):
            return value
        try:
            return _offset(self, str(milliseconds(parsed_time(value, ctx.meta.get(_NOW) if ctx is not None else None))))
        except ValueError as error:
            self.fail(str(error))


class ColumnsType(ParamType):
    """Names of record columns with commas between them."""

    name = "NAME,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """Parse the text."""
        names = value if isinstance(value, list) else [name.strip() for name in value.split(",")]
        unknown = [name for name in names if name not in RECORD_COLUMNS and not is_of_values(name) and not is_of_keys(name)]
        if unknown:
            self.fail(f"unknown column {unknown[0]!r}; the columns are {', '.join(RECORD_COLUMNS)}")
        if len(set(names)) < len(names):
            self.fail("a column is named twice")
        return names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the last of the names."""
        before, comma, last = incomplete.rpartition(",")
        named = before.split(",")
        return [CompletionItem(before + comma + name) for name in RECORD_COLUMNS if name.startswith(last) and name not in named]


class Base64Type(ParamType):
    """Bytes in base64."""

    name = "BASE64"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """Parse the text."""
        try:
            return value if isinstance(value, bytes) else base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            self.fail(f"{value!r} is not base64")


@dataclass(frozen=True)
class Output:
    """Where rows go: a file of this kind, or stdout."""

    kind: str | None = None
    path: str = ""
    overwrite: bool = False


def examples(*lines: str) -> str:
    """Return the end of a help text: commands as they are typed, not wrapped."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def paths_argument(function: F) -> F:
    """Add the argument PATH..."""
    kind = click.Path(exists=False, allow_dash=True)
    argument = click.argument("paths", metavar="PATH...", nargs=-1, type=kind, callback=_checked_paths)
    return key_file_option(selection_options(argument(function)))


def now_option(function: F) -> F:
    """Add --now, from which relative times are counted."""
    kept: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": _kept_now}
    return click.option("--now", type=InstantType(), help="Count relative times such as -2h from TIME. [default: now]", **kept)(function)


def iso_option(function: F) -> F:
    """Add --iso."""
    return click.option("--iso", is_flag=True, help="Write times in JSON in ISO 8601 instead of milliseconds.")(function)


def ensure_iso_of_json(iso: bool, is_json: bool) -> None:
    """Fail for --iso of a verb that writes JSON with --json alone."""
    if iso and not is_json:
        raise click.UsageError("--iso is about --json, which is not given")


def _kept_now(ctx: click.Context, param: click.Parameter, given: int | None) -> None:
    ctx.meta[_NOW] = given


def ensure_times(since: int | None, until: int | None) -> None:
    """Fail for --since after --until."""
    try:
        ensure_ordered(since, until, ("--since", "--until"))
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def selection_options(function: F) -> F:
    """Add --topic and --partition, which stay in the context, where `inputs.selection` takes them."""
    kept: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": _kept_selection}
    topic = click.option("--topic", metavar="NAME", help="Read only this topic; without partition directories, the topic's name.", **kept)
    number = whole(0)
    partition = click.option("--partition", type=number, metavar="N", help="Read only this partition number; see --topic.", **kept)
    return topic(partition(function))


def partition_options(function: F) -> F:
    """Add the options of verbs that read the records of partitions: --ignore-log-start-offset and --replica."""
    return log_start_option(replica_option(function))


def log_start_option(function: F) -> F:
    """Add --ignore-log-start-offset, which stays in the context, where `inputs.partition_options_of` takes it."""
    kept: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": _kept_log_start}
    text = "Include records below the log start offset, which were deleted (log-start-offset-checkpoint)."
    return click.option("--ignore-log-start-offset", is_flag=True, help=text, **kept)(function)


def replica_option(function: F) -> F:
    """Add --replica, for verbs that read one directory of a partition. It stays in the context for `inputs.replica_options`."""
    kept: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": _kept_selection}
    text = "Of a partition in several directories read the longest log, the first directory, or the one at PATH. [default: an error]"
    return click.option("--replica", metavar="longest|first|PATH", help=text, **kept)(function)


def path_argument(function: F) -> F:
    """Add the argument PATH, for verbs that read one."""
    kind = click.Path(exists=False, allow_dash=True)
    return key_file_option(selection_options(click.argument("path", metavar="PATH", type=kind, callback=keyed_path)(function)))


def quiet_option(function: F) -> F:
    """Add --quiet."""
    return click.option("-q", "--quiet", is_flag=True, help="Print errors only, no progress and no notes.")(function)


def json_option(text: str) -> Callable[[F], F]:
    """Add --json."""
    return click.option("--json", "is_json", is_flag=True, help=text)


def file_options(function: F) -> F:
    """Add --arrow, --parquet and --overwrite."""
    file = click.Path(dir_okay=False)
    parquet = click.option("--parquet", type=file, metavar="FILE", help="Write a Parquet file (needs pyarrow).")
    arrow = click.option("--arrow", type=file, metavar="FILE", help="Write an Arrow IPC file (needs pyarrow).")
    return arrow(parquet(overwrite_option(function)))


def overwrite_option(function: F) -> F:
    """Add --overwrite."""
    return click.option("--overwrite", is_flag=True, help="Replace an existing output file.")(function)


def on_error_option(function: F) -> F:
    """Add --on-error."""
    text = "Stop at damage (raise), or skip to the next valid batch and report the lost ranges (skip)."
    kind = click.Choice(["raise", "skip"])
    return click.option("--on-error", type=kind, default="raise", show_default=True, help=text)(function)


def unreadable_option(function: F) -> F:
    """Add --unreadable."""
    text = "At an undamaged batch without its plugin, over a limit or of v3: stop (raise), or report and skip it (skip)."
    kind = click.Choice(["raise", "skip"])
    return click.option("--unreadable", type=kind, default="raise", show_default=True, help=text)(function)


def limits_option(function: F) -> F:
    """Add --limits; the verb gets `limits`, which is None without the option."""
    text = "Set a limit of a batch, such as max_ratio=100000 or max_records=unlimited; repeatable."
    return click.option("--limits", type=LimitType(), multiple=True, callback=_limits_of, help=text)(function)


def _limits_of(ctx: click.Context, param: click.Parameter, given: tuple[tuple[str, int | str], ...]) -> Limits | None:
    names = [name for name, _ in given]
    if len(set(names)) < len(names):
        raise click.BadParameter("a limit is given twice", ctx, param)
    values: dict[str, Any] = dict(given)
    return Limits(**values) if values else None


def reading_options(function: F) -> F:
    """Add --format, --experimental, --limits and the options of a registry; the verb gets `reading`."""
    return _format_option(batch_reading_options(function))


def batch_reading_options(function: F) -> F:
    """Add the options of a verb that reads logs of a broker: --experimental, --limits, those of a registry; the verb gets `reading`."""
    return _experimental_option(limits_option(registry_option(_with_reading(function))))


def header_reading_options(function: F) -> F:
    """Add --experimental and --limits, the options of a verb that decompresses nothing; the verb gets `reading`."""
    return _experimental_option(limits_option(_with_reading(function)))


def _with_reading(function: F) -> F:
    """Collect the options of entries that click parsed into `reading`."""

    @functools.wraps(function)
    def collected(**values: Any) -> Any:
        reading = {name: values.pop(name) for name in EntryKeywords.__annotations__ if name in values}
        return function(reading=reading, **values)

    return cast("F", collected)


def registry_option(function: F) -> F:
    """Add --registry, --bootstrap-servers and what belongs to them; the verb gets `codecs`."""
    return codecs_options(function)


def _format_option(function: F) -> F:
    """Add --format."""
    text = "Read this format. auto: each entry's own, 0.7 for *.kafka files; sniff: by the first entry."
    kind = click.Choice(["auto", "sniff", "0.7", "v0", "v1", "v2", "v3"])
    return click.option("--format", type=kind, default="auto", show_default=True, help=text)(function)


def _experimental_option(function: F) -> F:
    """Add --experimental."""
    text = "Read batches of the proposed format v3 too, which no broker writes (KIP-931)."
    return click.option("--experimental", is_flag=True, help=text)(function)


def bind_args(kind: type[A]) -> Callable[[Callable[[A], int]], Callable[..., int]]:
    """Call a verb with one object of its arguments, made of the values that click parsed.

    Args:
        kind: a dataclass with a field for each parameter of the command.
    """

    def adapted(verb: Callable[[A], int]) -> Callable[..., int]:
        @functools.wraps(verb)
        def called(**values: Any) -> int:
            return verb(kind(**values))

        return called

    return adapted


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


def _checked_paths(ctx: click.Context, param: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
    if not paths:
        raise click.UsageError("Missing argument 'PATH...': a log segment, a directory, or - for standard input", ctx)
    if paths.count("-") > 1:
        raise click.BadParameter("- (standard input) can be given once", ctx, param)
    if "-" in paths and (sys.stdin is None or sys.stdin.isatty()):
        raise click.BadParameter("standard input is a terminal; - needs a pipe or a file", ctx, param)
    return tuple(keyed(ctx, path) for path in paths)


def _kept_selection(ctx: click.Context, param: click.Parameter, given: str | int | None) -> None:
    ctx.meta[f"logsegment.{param.name}"] = given


def _kept_log_start(ctx: click.Context, param: click.Parameter, is_ignored: bool) -> None:
    ctx.meta[LOG_START] = PartitionOptions(log_start_offset="ignore" if is_ignored else "honour")


def _offset(kind: ParamType, text: str) -> int:
    number = int(text) if len(text) < 21 else 2**63
    if not -(2**63) <= number < 2**63:
        kind.fail(f"{text} does not fit 64 bits")
    return number


#: The key of --now in the context of a command.
_NOW = "logsegment.now"
#: The key of --ignore-log-start-offset, for verbs that have it.
LOG_START = "logsegment.partition_options"


#: Where a key is looked for that no file gives.
VARIABLE = "LOGSEGMENT_REDACT_KEY"


def redact_options(function: F) -> F:
    """Add --redact and --redact-key; the verb makes a `Redactor` of both by `redactor_of`."""
    text = f"Hash with the key in FILE, at least {LEAST_KEY_BYTES} bytes, or with {VARIABLE}; implies --redact. [default: random]"
    key = click.option("--redact-key", type=click.Path(), metavar="FILE", help=text)
    flag = "Show keys, values and header values as length and keyed hash."
    return click.option("--redact", "is_redacted", is_flag=True, help=flag)(key(function))


def redact_messages_option(function: F) -> F:
    """Add --redact to a verb that shows where records are, and of them nothing but what it met in damaged ones; see `withholding`."""
    text = "Hide the details of damage, which may contain parts of a payload."
    return click.option("--redact", "is_redacted", is_flag=True, help=text)(function)


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
