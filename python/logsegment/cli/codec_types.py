"""Types of options that name codecs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

from logsegment._options import CodecRegistry
from logsegment.cli.number_types import ParamType
from logsegment.plugins.registry import Absent

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class CodecType(ParamType):
    """A codec by Kafka's name, or with a registry by the alias of a plugin."""

    name = "CODEC"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check that the name has no level; `ensure_codec` looks it up when the registry is known."""
        codec, _, level = value.partition(":")
        if codec in CODECS and level:
            self.fail(f"{value!r} has a level; write {codec} and --level {level}")
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the names that are built in."""
        return [CompletionItem(name) for name in CODECS if name.startswith(incomplete)]


def ensure_codec(name: str | None, codecs: CodecRegistry | None, flag: str = "--compression") -> None:
    """Fail for a codec that is not built in and not the alias of a plugin.

    Args:
        name: what was given, or None.
        codecs: the registry of the verb.
        flag: the option, for the error.

    Raises:
        click.BadParameter: if there is no such codec, or the registry cannot be read.
    """
    if name is None or name in CODECS:
        return
    has_registry = codecs is not None and not isinstance(codecs, Absent)
    try:
        is_known = codecs is not None and has_registry and codecs.by_alias(name) is not None
    except (OSError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint=f"'{flag}'") from None
    if not is_known:
        plugins = "or a plugin of the registry" if has_registry else "plugins need --registry or --bootstrap-servers"
        raise click.BadParameter(f"{name!r} is not one of {', '.join(map(repr, CODECS))}; {plugins}", param_hint=f"'{flag}'")


class WhatIfType(CodecType):
    """Codecs with or without a level, and `v3`, with commas between them."""

    name = "CODEC[:LEVEL],..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split the text; `ensure` checks the codecs, and `stats` their levels."""
        return str(value).split(",")

    @staticmethod
    def ensure(what_if: Iterable[str], codecs: CodecRegistry | None) -> None:
        """Fail for a codec that is not built in and not the alias of a plugin."""
        for name in what_if:
            ensure_codec(None if name == "v3" else name.partition(":")[0], codecs, "--what-if")
