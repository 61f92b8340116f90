"""Types of options that are numbers: whole numbers that fit the core, and limits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from logsegment._options import LIMIT_NAMES

if TYPE_CHECKING:
    # Generic only from click 8.2 on.
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType

#: Lifts a limit.
UNLIMITED = "unlimited"


class WholeType(click.IntRange):
    """A whole number that fits 64 bits, from a least one on. Help texts show the least one only."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the text."""
        number = super().convert(value, param, ctx)
        if not -(2**63) <= number <= self.most:
            self.fail(f"{value} is above {self.most}", param, ctx)
        return number

    def __init__(self, least: int, most: int = 2**63 - 1) -> None:
        super().__init__(min=least)
        self.most = most


def whole(least: int, most: int = 2**63 - 1) -> WholeType:
    """Return the type of a whole number, from `least` to `most`."""
    return WholeType(least, most)


class SizeType(ParamType):
    """A number of bytes: `1000000`, `64KiB`, `512MiB`, `2GiB`."""

    name = "BYTES"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse the text."""
        match = re.fullmatch(r"(\d{1,18})\s*([KMGT]iB)?", str(value))
        if match is None:
            self.fail(f"{value!r} is not a number of bytes such as 1000000 or 512MiB", param, ctx)
        return int(match[1]) << (10 * _UNITS.index(match[2] or ""))


#: Units of sizes, each 1024 times the one before.
_UNITS = ("", "KiB", "MiB", "GiB", "TiB")


class LimitType(ParamType):
    """`NAME=VALUE`: one of the limits of `logsegment.Limits`, as a number or `unlimited`."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int | str]:
        """Parse the text."""
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        name, text = name.strip(), text.strip().replace(",", "").replace("_", "")
        if name not in LIMIT_NAMES:
            self.fail(f"unknown limit {name!r}; the limits are {', '.join(LIMIT_NAMES)}", param, ctx)
        if text == UNLIMITED:
            return name, text
        least = 1 if name == "max_ratio" else 0
        if not equals or not re.fullmatch(r"[0-9]{1,20}", text) or not least <= int(text) < 2**64:
            self.fail(f"{value!r}: a limit is a whole number from {least} on that fits 64 bits, or {UNLIMITED}", param, ctx)
        return name, int(text)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the name."""
        return [CompletionItem(f"{name}=") for name in LIMIT_NAMES if f"{name}=".startswith(incomplete)]
