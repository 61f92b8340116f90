"""Types of options that name codecs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from logsegment.analysis.recompression import codec_and_level
from logsegment.cli.options import ParamType
from logsegment.cli.plugin_registries import chosen

if TYPE_CHECKING:
    from logsegment.plugins import Registry

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class CodecType(ParamType):
    """A codec by Kafka's name, or with a registry by the alias of a plugin."""

    name = "CODEC"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Look the name up."""
        codec, _, level = value.partition(":")
        if codec in CODECS and level:
            self.fail(f"{value!r} has a level; write {codec} and --level {level}")
        codecs = chosen(ctx) if ctx and value not in CODECS else None
        if value not in CODECS and not (codecs and self._is_alias(codecs, value)):
            plugins = "or a plugin of the registry" if codecs else "plugins need --registry or --bootstrap-servers"
            self.fail(f"{value!r} is not one of {', '.join(map(repr, CODECS))}; {plugins}")
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the names that are built in."""
        return [CompletionItem(name) for name in CODECS if name.startswith(incomplete)]

    def _is_alias(self, codecs: Registry, name: str) -> bool:
        try:
            return codecs.by_alias(name) is not None
        except (OSError, ValueError) as error:
            self.fail(str(error))


class WhatIfType(CodecType):
    """Codecs with or without a level, and `v3`, with commas between them."""

    name = "CODEC[:LEVEL],..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the codecs and their levels."""
        return [self._checked(name, param, ctx) for name in str(value).split(",")]

    def _checked(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == "v3":
            return "v3"
        try:
            codec, _ = codec_and_level(value)
        except ValueError as error:
            self.fail(str(error).removeprefix("what_if: "), param, ctx)
        super().convert(codec, param, ctx)
        return value


class LevelType(click.types.IntParamType):
    """A level of a codec, which knows its own levels; all of them fit 32 bits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the text."""
        level = super().convert(value, param, ctx)
        if not -(2**31) <= level < 2**31:
            self.fail(f"{value} is not a level of any codec", param, ctx)
        return level
