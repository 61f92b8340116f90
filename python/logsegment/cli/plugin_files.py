"""Plugins to register, from a file: a list in YAML or JSON, or tables `[[plugins]]` in TOML."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable
from typing import Any

import click

from logsegment.plugins import EntryError, Plugin


def plugins_of(path: str) -> list[Plugin]:
    """Read the plugins of a file.

    Raises:
        click.UsageError: when it is none of the three, or holds something else.
        OSError: when it cannot be read.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in READERS:
        raise click.UsageError(f"{path} must end in {', '.join(READERS)}")
    with open(path, "rb") as file:
        content = file.read()
    try:
        found = READERS[suffix](content)
    except (ValueError, RecursionError) as error:
        told = " ".join(str(error).split()) or type(error).__name__
        raise click.UsageError(f"{path} cannot be read: {told}") from None
    listed = found.get("plugins") if isinstance(found, dict) else found
    if not isinstance(listed, list) or not listed:
        raise click.UsageError(f"{path} holds no list of plugins")
    return [_plugin(path, number, fields) for number, fields in enumerate(listed, 1)]


def _plugin(path: str, number: int, fields: Any) -> Plugin:
    try:
        return Plugin.from_dict(fields)
    except EntryError as error:
        advice = '; in YAML and TOML "1.0" needs its quotes' if error.field == "pluginVersion" else ""
        raise click.UsageError(f"{path}, plugin {number}: {error}{advice}") from None


def _yaml(content: bytes) -> Any:
    try:
        import yaml
    except ImportError:
        raise click.UsageError("YAML needs pyyaml: pip install 'logsegment[plugins]' (JSON and TOML do not)") from None
    try:
        return yaml.safe_load(content)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


def _toml(content: bytes) -> Any:
    return tomllib.loads(content.decode())


#: By suffix.
READERS: dict[str, Callable[[bytes], Any]] = {".yaml": _yaml, ".yml": _yaml, ".toml": _toml, ".json": json.loads}
