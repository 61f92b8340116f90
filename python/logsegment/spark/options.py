"""Options of the data source: names and defaults of Spark's Kafka source, and a few of our own.

What belongs to a connection with brokers means nothing here and is passed over with one warning. Anything else that is unknown is an error,
since a misspelt option would silently read something else.
"""

from __future__ import annotations

import difflib
import glob
import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from logsegment._options import Isolation

#: Of Spark's Kafka source; they say how to talk to brokers.
IGNORED = ("kafka.", "kafkaconsumer.", "fetchoffset.", "groupidprefix")
#: Kafka's own name of our option `isolation`: passed over, it would change the rows.
KAFKA_ISOLATION = "kafka.isolation.level"
KNOWN = ("path", "paths", "includeHeaders", "isolation", "batchSize", "batchBytes", "topic", "partition")
_LEVELS: dict[str, Isolation] = {"read_uncommitted": "read_uncommitted", "read_committed": "read_committed"}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Checked options of a read. `topic` and `partition` are for files that lie in no partition directory."""

    paths: tuple[str, ...]
    include_headers: bool = False
    isolation: Isolation = "read_uncommitted"
    batch_size: int = 65536
    batch_bytes: int = 1 << 20
    topic: str | None = None
    partition: int | None = None


def parse_options(given: Mapping[str, str]) -> ReadOptions:
    """Check the options that a user gave.

    Args:
        given: Spark's options; the case of their names means nothing.

    Raises:
        ValueError: for an unknown option, a bad value, no path.
    """
    options = {name.lower(): value for name, value in given.items()}
    isolation = options.get("isolation", options.get(KAFKA_ISOLATION, "read_uncommitted"))
    _refuse_unknown(given)
    _warn_of_ignored(given)
    return ReadOptions(
        paths=_paths(options),
        include_headers=_boolean(options, "includeHeaders", False),
        isolation=_isolation(isolation),
        batch_size=_integer(options, "batchSize", at_least=1) or 65536,
        batch_bytes=_integer(options, "batchBytes", at_least=1) or 1 << 20,
        topic=options.get("topic"),
        partition=_integer(options, "partition", at_least=0),
    )


def local_paths(paths: tuple[str, ...]) -> list[str]:
    """Paths on this machine, with `file:` URIs and glob patterns resolved.

    Raises:
        ValueError: for a URI of another scheme.
        FileNotFoundError: when there is nothing at a path.
    """
    return [found for path in paths for found in _matches(_without_scheme(path))]


def _matches(path: str) -> list[str]:
    if not os.path.lexists(path) and glob.has_magic(path):
        if found := sorted(glob.glob(path)):
            return found
        raise FileNotFoundError(f"{path}: no file or directory matches")
    os.stat(path)
    return [path]


def _without_scheme(path: str) -> str:
    parts = urlsplit(path)
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return unquote(parts.path)
    if "://" in path:
        raise ValueError(f"{path}: only local files are read; give a path or a file: URI")
    return path


def _refuse_unknown(given: Mapping[str, str]) -> None:
    known = {name.lower() for name in KNOWN}
    unknown = sorted(name for name in given if name.lower() not in known and not _is_ignored(name))
    if unknown:
        raise ValueError(f"unknown option {', '.join(map(_with_near, unknown))}; the options are {', '.join(KNOWN)}")


def _with_near(name: str) -> str:
    """The name, and the option that was probably meant."""
    spelt = {known.lower(): known for known in KNOWN}
    near = difflib.get_close_matches(name.lower(), spelt, n=1)
    return f"{name} (did you mean {spelt[near[0]]}?)" if near else name


def _warn_of_ignored(given: Mapping[str, str]) -> None:
    ignored = sorted(name for name in given if _is_ignored(name) and name.lower() != KAFKA_ISOLATION)
    if ignored:
        text = f"logsegment reads files, not brokers: ignored {', '.join(ignored)}"
        warnings.warn(text, UserWarning, stacklevel=4)


def _is_ignored(name: str) -> bool:
    return name.lower().startswith(IGNORED)


def _paths(options: Mapping[str, str]) -> tuple[str, ...]:
    """Spark gives one path as `path`, several as a JSON array in `paths`."""
    paths = [options["path"]] if "path" in options else []
    paths += json.loads(options.get("paths", "[]"))
    if not paths:
        raise ValueError('no path: give one to load(), or as option "path"')
    return tuple(paths)


def _boolean(options: Mapping[str, str], name: str, default: bool) -> bool:
    text = options.get(name.lower(), str(default)).lower()
    if text not in ("true", "false"):
        raise ValueError(f"option {name} must be true or false, not {text!r}")
    return text == "true"


def _isolation(text: str) -> Isolation:
    try:
        return _LEVELS[text.lower()]
    except KeyError:
        raise ValueError(f"option isolation must be read_uncommitted or read_committed, not {text!r}") from None


def _integer(options: Mapping[str, str], name: str, at_least: int) -> int | None:
    text = options.get(name.lower())
    if text is None:
        return None
    if not text.isdecimal() or not at_least <= int(text) < 2**31:
        raise ValueError(f"option {name} must be a whole number from {at_least} on, not {text!r}")
    return int(text)
