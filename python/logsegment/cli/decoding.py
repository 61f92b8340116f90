"""`--decode`: the columns that records have then, and a mistake where nothing says of which topic they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from logsegment.cli.messages import say
from logsegment.segment_files.internal_topics import INTERNAL, told_of_others, with_internal

F = TypeVar("F", bound=Callable[..., Any])

#: What a record is in JSON by default.
JSON_COLUMNS = ("topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers")
#: What stands there as text when records are decoded.
BYTES = ("key", "value")


def decode_option(function: F) -> F:
    """Add --decode."""
    text = "What records of Kafka's internal topics say, in the place of their bytes."
    return click.option("--decode", "is_decoded", is_flag=True, help=text)(function)


def json_columns(columns: list[str] | None, *, control: bool, is_decoded: bool) -> list[str]:
    """The columns of JSON lines: those that were named, or what a record is by default."""
    usual = [name for name in JSON_COLUMNS if not (is_decoded and name in BYTES)]
    return decoded(columns or with_control(usual, control), is_decoded)


def decoded(columns: list[str], is_decoded: bool) -> list[str]:
    """The columns, and what records say behind them when that is asked for."""
    return with_internal(columns) if is_decoded else columns


def with_control(columns: Iterable[str], control: bool) -> list[str]:
    """The columns, and what control records are behind them when those are given too."""
    return [*columns, *["controlType"] * control]


def say_others(columns: Iterable[str], topics: Iterable[str | None], *, control: bool, quiet: bool) -> None:
    """Say which topics are not internal where records are to be decoded: what their records hold is not shown."""
    if INTERNAL in columns and not control and not quiet and (others := told_of_others(topics)):
        say(others)


def ensure_topics(columns: Iterable[str], told: Iterable[tuple[str, str | None]], *, control: bool) -> None:
    """Fail where records are to be decoded whose topic nothing says, instead of giving nothing but null; control records need none.

    Args:
        columns: those that are asked for.
        told: names of files, and the topic of each.
        control: control records are given too.

    Raises:
        click.UsageError: then.
    """
    if INTERNAL not in columns or control:
        return
    unknown = next((name for name, topic in told if topic is None), None)
    if unknown is not None:
        raise click.UsageError(f"internal: no directory tells which topic {unknown} is of; say --topic __consumer_offsets, for example")
