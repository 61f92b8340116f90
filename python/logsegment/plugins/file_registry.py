"""The registry in a JSON file, for users without a Kafka cluster.

The file holds an object of topics, each an object of aliases, each with the value of its record:

    {
      "plugin-java-topic": {
        "fast": {"pluginID": 0, "pluginAlias": "fast", "pluginClassName": "org.example.FastCodec", "pluginVersion": "v1.0"}
      },
      "plugin-python-topic": {
        "fast": {"pluginID": 0, "pluginAlias": "fast", "pluginClassName": "example.fast:Codec", "pluginVersion": "v1.0"}
      }
    }

A change is a new file under the old name, so that readers see all of it or nothing. Writers wait for each other at PATH.lock, which stays.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, Self, TypeAlias

from logsegment._output import OutputFile
from logsegment.plugins.catalog import Catalog, Change, Record, RegistryError, language_of, topic_of
from logsegment.plugins.entry import refuse_constant
from logsegment.plugins.lookup import Lookup, Plan, Store
from logsegment.plugins.registry import Registry

#: The content of a file: topic -> alias -> value.
Topics: TypeAlias = dict[str, dict[str, Any]]
#: A registry has at most 16 plugins; a file of many megabytes is a segment that was named by mistake.
_MAX_BYTES = 16 << 20


class FileRegistry(Registry):
    """Plugins registered in a JSON file. The file is read again for each unknown id or alias.

    Args:
        path: the file; `register` makes it.
        language: whose entries are found.
        allow: see `Registry`.

    Raises:
        ValueError, TypeError: as `Registry`.

    Example:
        >>> from logsegment.plugins import FileRegistry, Plugin
        >>> registry = FileRegistry("plugins.json")
        >>> plugin = Plugin("fast", {"java": "org.example.FastCodec", "python": "example.fast:Codec"}, "v1.0")
        >>> [change.entry.plugin_id for change in registry.register([plugin])]
        [0, 0]
        >>> registry.by_alias("fast").class_name
        'example.fast:Codec'
    """

    def __init__(self, path: str | os.PathLike[str], language: str = "python", *, allow: Iterable[str] = ()) -> None:
        self.path = os.fspath(path)
        super().__init__(FileStore(self.path), language, allow=allow)

    def for_tasks(self) -> Self:
        """Return the registry with its entries read, and with an absolute path.

        On a machine without the file, the entries are those that were read here.

        Raises:
            RegistryError: if the file cannot be read.
        """
        other = copy(self)
        other.path = os.path.abspath(self.path)
        other._lookup = Lookup(FileStore(other.path, FileStore(other.path).topics()))
        other.refresh()
        return other


class FileStore(Store):
    """The records of a file.

    Args:
        path: the file.
        kept: its content, for a machine without the file.
    """

    def __init__(self, path: str, kept: Topics | None = None) -> None:
        self.name = path
        self._kept = kept

    def read(self, language: str | None) -> Catalog:
        """Read the entries of one language, or of all."""
        topics = self.topics()
        return _catalog(topics if language is None else {name: topics[name] for name in topics if name == topic_of(language)})

    def topics(self) -> Topics:
        """Read the content of the file.

        Raises:
            RegistryError: if there is no file, or it is not a registry.
        """
        try:
            with open(self.name, "rb") as file:
                content = file.read(_MAX_BYTES + 1)
        except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
            if self._kept is not None:
                return self._kept
            raise self._unreadable(error) from error
        except OSError as error:
            raise self._unreadable(error) from error
        if len(content) > _MAX_BYTES:
            raise self._invalid(f"it has more than {_MAX_BYTES:,} bytes")
        try:
            return self._checked(json.loads(content, object_pairs_hook=_without_doubles, parse_constant=refuse_constant))
        except (ValueError, RecursionError) as error:
            raise self._invalid(f"it is not JSON ({error})") from None

    def absence(self) -> str | None:
        """Return a text if there is no file."""
        return None if os.path.lexists(self.name) else self._missing()

    def change(self, plan: Plan) -> tuple[list[Change], Catalog]:
        """Write the changes of a plan into a new file."""
        if self.absence():
            # A rejected registration leaves no file and no lock.
            plan(Catalog())
        with self._writing():
            topics = {} if self.absence() else self.topics()
            catalog = _catalog(topics)
            changes = plan(catalog)
            if changes:
                self._replace(_changed(topics, changes))
        return changes, catalog.after(changes)

    def _missing(self) -> str:
        return f"no registry {self.name}; `logsegment plugins register` makes one"

    def _unreadable(self, error: OSError) -> RegistryError:
        is_missing = isinstance(error, FileNotFoundError)
        return RegistryError(self._missing() if is_missing else f"the registry {self.name} cannot be read: {error.strerror}")

    def _invalid(self, problem: str) -> RegistryError:
        return RegistryError(f"{self.name} is not a registry: {problem}")

    def _checked(self, topics: Any) -> Topics:
        if not isinstance(topics, dict):
            raise self._invalid("it has no JSON object")
        for name, entries in topics.items():
            if language_of(name) is None:
                raise self._invalid(f"{name!r} is not plugin-LANGUAGE-topic")
            if not isinstance(entries, dict):
                raise self._invalid(f"{name} has no object of aliases")
        return topics

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock of all writers of this file. The system frees it, however the writer ends."""
        try:
            descriptor = os.open(f"{os.path.realpath(self.name)}.lock", os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise RegistryError(f"{error.filename} cannot be created: {error.strerror}") from error
        try:
            lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _replace(self, topics: Topics) -> None:
        try:
            with OutputFile(self.name, overwrite=True) as output:
                output.file.write(json.dumps(topics, indent=2).encode() + b"\n")
        except OSError as error:
            raise RegistryError(f"the registry {self.name} cannot be written: {error.strerror}") from error


def _catalog(topics: Topics) -> Catalog:
    by_language = {language: entries for name, entries in topics.items() if (language := language_of(name))}
    # null removes an alias, as in a topic.
    records = (Record(language, alias, value) for language, entries in by_language.items() for alias, value in entries.items())
    return Catalog.of_records(records, by_language)


def _changed(topics: Topics, changes: list[Change]) -> Topics:
    """Return the topics with these changes; an invalid entry stays where it is."""
    changed = {name: dict(entries) for name, entries in topics.items()}
    for change in changes:
        entries = changed.setdefault(topic_of(change.language), {})
        entries.pop(change.alias, None)
        if change.entry is not None:
            entries[change.alias] = change.entry.to_dict()
    return changed


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = Counter(name for name, _ in pairs)
    if len(names) < len(pairs):
        raise ValueError(f"{names.most_common(1)[0][0]!r} occurs twice")
    return dict(pairs)


if sys.platform == "win32":
    import msvcrt

    def lock(descriptor: int) -> None:
        """Wait for the lock. Windows locks bytes, also such as are not there: the first one stands for the file."""
        while True:
            try:
                # Gives up by itself after ten seconds.
                msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EDEADLK):
                    raise
            else:
                return
else:
    import fcntl

    def lock(descriptor: int) -> None:
        """Wait for the lock."""
        fcntl.flock(descriptor, fcntl.LOCK_EX)
