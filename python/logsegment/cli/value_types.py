"""Parse the values of options: offsets, times, shares, columns, bytes; and how each option that all APIs have is parsed."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import click
from click.shell_completion import CompletionItem

from logsegment import Limits
from logsegment._options import (
    INTERNAL,
    KEY_COLUMNS,
    RAW_COLUMNS,
    VALUE_COLUMNS,
    KeyValues,
    Quirk,
    Values,
    ensure_values,
    is_of_keys,
    is_of_values,
    milliseconds,
    parsed_time,
)
from logsegment.cli.number_types import LimitType, ParamType, whole
from logsegment.tiered.keys import is_bare_key

#: All record columns, as `logsegment.decode` names them.
RECORD_COLUMNS = (*RAW_COLUMNS, INTERNAL, *VALUE_COLUMNS, *KEY_COLUMNS)


class Offsets(NamedTuple):
    """Offsets from `start` (inclusive) to `end` (exclusive); None where there is no bound."""

    start: int | None = None
    end: int | None = None


EVERY_OFFSET = Offsets()


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
            now = ctx.params.get("now") if ctx is not None else None
            return _offset(self, str(milliseconds(parsed_time(value, now if isinstance(now, int) else None))))
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


class KindType(click.Choice[Any]):
    """A kind of values; the error does not list each type of a window."""

    def __init__(self, known: Sequence[str]) -> None:
        super().__init__(known)
        self.known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the name."""
        try:
            ensure_values("the kind", value, self.known)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return value


class LevelType(click.types.IntParamType):
    """A level of a codec, which knows its own levels; all of them fit 32 bits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the text."""
        level = super().convert(value, param, ctx)
        if not -(2**31) <= level < 2**31:
            self.fail(f"{value} is not a level of any codec", param, ctx)
        return level


def limits_of(given: Sequence[tuple[str, int | str]]) -> Limits | None:
    """Return the limits of --limits; None without the option.

    Raises:
        ValueError: if a limit is given twice.
    """
    if len(dict(given)) < len(given):
        raise ValueError("a limit is given twice")
    values: dict[str, Any] = dict(given)
    return Limits(**values) if values else None


def settings_of_store(given: Sequence[str]) -> dict[str, str] | None:
    """Return the options of --storage-option; None without the option.

    Raises:
        ValueError: if an option is not KEY=VALUE. The error does not show the text, which may be a secret.
    """
    pairs = [setting.partition("=") for setting in given]
    if any(not name or not mark for name, mark, _ in pairs):
        raise ValueError("an option is KEY=VALUE, such as aws_region=eu-west-1")
    return {name: value for name, _, value in pairs} or None


def keys_of(given: Sequence[str]) -> dict[str, str] | None:
    """Return the files of --key-file by the ids of their keys; None without the option.

    Raises:
        ValueError: if an option is not ID=FILE, an id is given twice, or a key is given in the place of its file.
    """
    keys: dict[str, str] = {}
    for text in given:
        key_id, equals, path = text.partition("=")
        if not (key_id.strip() and equals and path) or key_id in keys:
            raise ValueError("each must be ID=FILE, with different ids")
        if is_bare_key(path):
            raise ValueError(f"the key {key_id!r} is not a path; pass the file of the key")
        keys[key_id] = path
    return keys or None


@dataclass(frozen=True, slots=True)
class Parsing:
    """How the command line parses the values of an option.

    Attributes:
        kind: the type for click; None for the type that the option has.
        change: makes the value of the option from what click parsed; a ValueError is a mistake in the command.
        is_many: the option may be repeated, also if its type in Python is not a tuple.
        is_flag: the option has no value.
        is_eager: it is parsed before other options.
    """

    kind: Any = None
    change: Callable[[Any], Any] | None = None
    is_many: bool = False
    is_flag: bool = False
    is_eager: bool = False


#: The options that all APIs have, if their type in Python does not say how they are parsed.
PARSING: dict[str, Parsing] = {
    "base_position": Parsing(whole(0)),
    "batch_bytes": Parsing(whole(1)),
    "columns": Parsing(ColumnsType()),
    "decryption_keys": Parsing(change=keys_of, is_many=True),
    "key_values": Parsing(KindType(get_args(KeyValues))),
    "level": Parsing(LevelType()),
    "limits": Parsing(LimitType(), limits_of, is_many=True),
    "log_start_offset": Parsing(change=lambda is_ignored: "ignore" if is_ignored else "honour", is_flag=True),
    "partition": Parsing(whole(0)),
    "quirks": Parsing(click.Choice(get_args(Quirk)), is_many=True),
    "reader_schema": Parsing(click.Path(exists=True, dir_okay=False)),
    "storage_options": Parsing(change=settings_of_store, is_many=True),
    "threads": Parsing(whole(1)),
    "values": Parsing(KindType(get_args(Values))),
    "zstd_dictionaries": Parsing(click.File("rb"), lambda files: [file.read() for file in files] or None, is_many=True),
}


def _offset(kind: ParamType, text: str) -> int:
    number = int(text) if len(text) < 21 else 2**63
    if not -(2**63) <= number < 2**63:
        kind.fail(f"{text} does not fit 64 bits")
    return number
