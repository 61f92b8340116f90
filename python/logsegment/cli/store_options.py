"""Define --storage-option, --key-file and --layout: the options of stores, and the keys and the layout of tiered storage."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from logsegment._core import Place
from logsegment._places import placed
from logsegment._storage import StorageOptions, reached
from logsegment.tiered.keys import is_bare_key

F = TypeVar("F", bound=Callable[..., Any])
#: The keys of --key-file, --storage-option and --layout in the context of a command.
_KEYS = "logsegment.keys"
_STORAGE = "logsegment.storage"
_LAYOUT = "logsegment.layout"


def key_file_option(function: F) -> F:
    """Add --key-file, --layout and --storage-option. Their values stay in the context, where `keyed` takes them."""
    text = "Decrypt with the RSA private key of this id (PKCS#8, PEM or DER); repeatable."
    kept: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": _kept_keys}
    return click.option("--key-file", metavar="ID=FILE", multiple=True, help=text, **kept)(_layout_option(storage_option(function)))


def _layout_option(function: F) -> F:
    """Add --layout. Its value stays in the context, where `keyed` takes it."""
    text = "Read plain segments with other names, such as '{topic}/{partition}/{offset:020}-{id}.log'."
    kept: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": _kept_layout}
    return click.option("--layout", metavar="TEMPLATE", help=text, **kept)(function)


def storage_option(function: F) -> F:
    """Add --storage-option. Its values stay in the context, where `keyed` and `storage_options` take them."""
    text = "Set an option of the store, by its name in object_store, such as aws_region=eu-west-1; repeatable."
    kept: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": _kept_storage}
    return click.option("--storage-option", metavar="KEY=VALUE", multiple=True, help=text, **kept)(function)


def target_option(function: F) -> F:
    """Add --target-option, for verbs that read or write tables."""
    text = "Set a property of the catalog of a table, or an option of the store of a Delta table; repeatable."
    return click.option("--target-option", metavar="KEY=VALUE", multiple=True, help=text)(function)


def storage_options() -> StorageOptions | None:
    """Return the options of --storage-option of the command that runs; None without options."""
    ctx = click.get_current_context(silent=True)
    return ctx.meta.get(_STORAGE) or None if ctx is not None else None


def keyed(ctx: click.Context, path: str) -> str:
    """Return a path with the keys, the layout and the options of its store that were given.

    Raises:
        click.UsageError: for a URI with a key, a password or settings.
    """
    if path == "-":
        return path
    try:
        place = os.fspath(reached(path, ctx.meta.get(_STORAGE), ctx.meta.get(_KEYS) or None, ctx.meta.get(_LAYOUT)))
        placed(place)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return place


def keyed_path(ctx: click.Context, param: click.Parameter, path: str) -> str:
    """Return the value of PATH, as `keyed` does."""
    return keyed(ctx, path)


def _kept_storage(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> None:
    try:
        ctx.meta[_STORAGE] = settings_of(given)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from None


def settings_of(given: tuple[str, ...]) -> dict[str, str]:
    """Return settings by their keys.

    Raises:
        ValueError: if a setting is not KEY=VALUE; the text does not show it, since it may be a secret.
    """
    pairs = [setting.partition("=") for setting in given]
    if any(not name or not mark for name, mark, _ in pairs):
        raise ValueError("an option is KEY=VALUE, such as aws_region=eu-west-1")
    return {name: value for name, _, value in pairs}


def _kept_layout(ctx: click.Context, param: click.Parameter, given: str | None) -> None:
    ctx.meta[_LAYOUT] = given
    try:
        if given is not None:
            Place("").uploaded(None, given)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from None


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
