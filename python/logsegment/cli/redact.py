"""--redact and --redact-key, for every verb that shows records."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from logsegment.analysis.redaction import LEAST_KEY_BYTES, Redactor
from logsegment.cli.messages import say

F = TypeVar("F", bound=Callable[..., Any])

#: Where a key is looked for that no file gives.
VARIABLE = "LOGSEGMENT_REDACT_KEY"


def redact_options(function: F) -> F:
    """Add --redact and --redact-key; the verb makes a `Redactor` of both by `redactor_of`."""
    text = f"The key of the hashes, at least {LEAST_KEY_BYTES} bytes; or set {VARIABLE}. Random if there is none. Implies --redact."
    key = click.option("--redact-key", type=click.Path(), metavar="FILE", help=text)
    flag = "Keys, values and header values as their length and a keyed hash."
    return click.option("--redact", "is_redacted", is_flag=True, help=flag)(key(function))


def redact_messages_option(function: F) -> F:
    """Add --redact to a verb that shows where records are, and of them nothing but what it met in damaged ones; see `withholding`."""
    text = "Messages about damage without what was met there, which may be a piece of a payload."
    return click.option("--redact", "is_redacted", is_flag=True, help=text)(function)


def withholding(is_redacted: bool) -> Redactor | None:
    """What holds words back where nothing is hashed, so that no key matters."""
    return Redactor(secrets.token_bytes(LEAST_KEY_BYTES)) if is_redacted else None


def redactor_of(is_redacted: bool, path: str | None, *, quiet: bool = False) -> Redactor | None:
    """What replaces payloads; None when they are to be shown.

    Raises:
        OSError: when the file cannot be read.
        click.UsageError: when the key is too short.
    """
    if not is_redacted and path is None:
        return None
    place, key = _key(path)
    if key is None:
        if not quiet:
            say("a random key for this run: hashes agree within this output alone; --redact-key FILE gives the same ones again")
        key = secrets.token_bytes(32)
    try:
        return Redactor(key)
    except ValueError as mistake:
        raise click.UsageError(f"{place}: {mistake}") from None


def _key(path: str | None) -> tuple[str, bytes | None]:
    """Where the key is from, and the key, without the end of its line."""
    if path is not None:
        return f"--redact-key {path}", _line(Path(path).read_bytes())
    text = os.environ.get(VARIABLE)
    return VARIABLE, None if text is None else _line(os.fsencode(text))


def _line(key: bytes) -> bytes:
    return key.removesuffix(b"\n").removesuffix(b"\r")
