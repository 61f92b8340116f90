"""Define --storage-option and --key-file: the options of stores, and the keys of tiered storage."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from logsegment._places import placed
from logsegment._storage import StorageOptions, reached
from logsegment.tiered.keys import is_bare_key

F = TypeVar("F", bound=Callable[..., Any])
#: The keys of --key-file and --storage-option in the context of a command.
_KEYS = "logsegment.keys"
_STORAGE = "logsegment.storage"


def key_file_option(function: F) -> F:
    """Add --key-file and --storage-option. Their values stay in the context, where `keyed` takes them."""
    text = "Decrypt with the RSA private key of this id (PKCS#8, PEM or DER); repeatable."
    kept: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": _kept_keys}
    return click.option("--key-file", metavar="ID=FILE", multiple=True, help=text, **kept)(storage_option(function))


def storage_option(function: F) -> F:
    """Add --storage-option. Its values stay in the context, where `keyed` and `storage_options` take them."""
    text = "Set an option of the store, by its name in object_store, such as aws_region=eu-west-1; repeatable."
    kept: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": _kept_storage}
    return click.option("--storage-option", metavar="KEY=VALUE", multiple=True, help=text, **kept)(function)


def storage_options() -> StorageOptions | None:
    """Return the options of --storage-option of the command that runs; None without options."""
    ctx = click.get_current_context(silent=True)
    return ctx.meta.get(_STORAGE) or None if ctx is not None else None


def keyed(ctx: click.Context, path: str) -> str:
    """Return a path with the keys and options of its store that were given.

    Raises:
        click.UsageError: for a URI with a key, a password or settings.
    """
    if path == "-":
        return path
    try:
        place = os.fspath(reached(path, ctx.meta.get(_STORAGE), ctx.meta.get(_KEYS) or None))
        placed(place)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return place


def keyed_path(ctx: click.Context, param: click.Parameter, path: str) -> str:
    """Return the value of PATH, as `keyed` does."""
    return keyed(ctx, path)


def _kept_storage(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> None:
    pairs = [setting.partition("=") for setting in given]
    if any(not name or not mark for name, mark, _ in pairs):
        # The text may be a secret.
        raise click.BadParameter("an option is KEY=VALUE, such as aws_region=eu-west-1", ctx, param)
    ctx.meta[_STORAGE] = {name: value for name, _, value in pairs}


def _kept_keys(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> None:
    if not given:
        return
    keys = {}
    for text in given:
        key_id, equals, path = text.partition("=")
        if not (key_id.strip() and equals and path) or key_id in keys:
            raise click.BadParameter("each must be ID=FILE, with different ids", ctx, param)
        if is_bare_key(path):
            raise click.BadParameter(f"the key {key_id!r} is not a path; pass the file of the key", ctx, param)
        keys[key_id] = path
    ctx.meta[_KEYS] = keys
