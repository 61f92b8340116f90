"""`--values internal`: the columns that records have then, and a mistake where nothing says of which topic they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from logsegment._decode import other_topics
from logsegment._options import INTERNAL, Values, with_values
from logsegment.cli.messages import say

F = TypeVar("F", bound=Callable[..., Any])

#: What a record is in JSON by default.
JSON_COLUMNS = ("topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers")
#: What stands there as text when records are decoded.
BYTES = ("key", "value")


def values_option(function: F) -> F:
    """Add --values."""
    text = "Show values as raw bytes, or the fields of records of Kafka's internal topics.  [default: raw]"
    option = click.option("--values", type=click.Choice(["raw", INTERNAL]), default="raw", metavar="KIND", help=text)
    return option(function)


def json_columns(columns: list[str] | None, *, control: bool, values: Values) -> list[str]:
    """Return the columns of JSON lines: those that were named, or those of a record by default."""
    usual = [name for name in JSON_COLUMNS if not (values == INTERNAL and name in BYTES)]
    return [*with_values(columns or with_control(usual, control), values)]


def with_control(columns: Iterable[str], control: bool) -> list[str]:
    """The columns, and what control records are behind them when those are given too."""
    return [*columns, *["controlType"] * control]


def say_others(columns: Iterable[str], topics: Iterable[str | None], *, control: bool, quiet: bool) -> None:
    """Say which topics are not internal where records are to be decoded: what their records hold is not shown."""
    if INTERNAL in columns and not control and not quiet and (others := other_topics(topics)):
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
