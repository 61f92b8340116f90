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
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

from logsegment._output import OutputFile
from logsegment.plugins.catalog import Catalog, CatalogBuilder, Change, KnownEntries, RegistryError, language_of, topic_of
from logsegment.plugins.entry import refuse_constant
from logsegment.plugins.stored_registry import Plan, StoredRegistry, T


class NotHere(RegistryError):
    """Raised if there is no such file on this machine, or if it may not be read."""


class FileRegistry(StoredRegistry):
    """Plugins registered in a JSON file.

    Args:
        path: the file; `register` makes it.
        language: whose entries are found.
        allow: patterns of Python modules that entries may name: `package.*` is the package and all modules in it. Without it only
            codecs of logsegment and those that installed packages offer as entry points of the group `logsegment.codecs` are loaded.

    Raises:
        ValueError: if `language` is not a name of a language.
        TypeError: if `allow` is not a list of strings.

    Example:
        >>> from logsegment.plugins import FileRegistry, Plugin
        >>> registry = FileRegistry("plugins.json")
        >>> plugin = Plugin("fast", {"java": "org.example.FastCodec", "python": "example.fast:Codec"}, "v1.0")
        >>> [change.entry.plugin_id for change in registry.register([plugin])]
        [0, 0]
        >>> registry.by_alias("fast").class_name
        'example.fast:Codec'
    """

    #: A file is read again for every unknown name: it costs nothing.
    retry_seconds = 0.0
    fault_seconds = 0.0

    def __init__(self, path: str | os.PathLike[str], language: str = "python", *, allow: Iterable[str] = ()) -> None:
        super().__init__(language, allow)
        self.path = os.fspath(path)
        self._is_settled = False

    def __repr__(self) -> str:
        return f"FileRegistry({self.path!r}, {self.language!r})"

    def settled(self) -> Self:
        """Return the registry with its entries read, and with an absolute path.

        On a machine without the file, an unknown name is a name that was not registered when the file was read.

        Raises:
            RegistryError: if the file cannot be read.
        """
        settled = copy(self)
        settled.path = os.path.abspath(self.path)
        settled._is_settled = True
        settled.refresh()
        return settled

    def place(self) -> Hashable:
        """Return None: another machine may have another file under the same path."""
        return None

    def planned(self, plan: Callable[[Catalog], T]) -> T:
        """Return the result of a plan without writing it. Without a file the catalog is empty."""
        return plan(self.catalog() if os.path.lexists(self.path) else Catalog())

    def change(self, plan: Plan) -> list[Change]:
        """Write the changes of a plan, while no other administrator writes.

        Args:
            plan: returns the changes for a catalog; if it raises, nothing is written.

        Returns:
            The changes that were written.

        Raises:
            RegistryError: if the file cannot be read or written.
        """
        if not os.path.lexists(self.path):
            # A rejected registration leaves no file and no lock.
            plan(Catalog())
        with self._writing():
            topics = self._topics() if os.path.lexists(self.path) else {}
            catalog = _catalog(topics)
            changes = plan(catalog)
            if changes:
                self._replace(_changed(topics, changes))
        self._learn(catalog.after(changes))
        return changes

    def _again(self, name: int | str) -> KnownEntries:
        try:
            return super()._again(name)
        except NotHere:
            if self._known is None or not self._is_settled:
                raise
            return self._known

    def _load(self, language: str | None) -> Catalog:
        topics = self._topics()
        return _catalog(topics if language is None else {name: topics[name] for name in topics if name == topic_of(language)})

    def _topics(self) -> dict[str, dict[str, Any]]:
        try:
            with open(self.path, "rb") as file:
                content = file.read(_MAX_BYTES + 1)
        except FileNotFoundError:
            raise NotHere(f"no registry {self.path}; `logsegment plugins register` makes one") from None
        except OSError as error:
            kind = NotHere if isinstance(error, PermissionError | NotADirectoryError) else RegistryError
            raise kind(f"the registry {self.path} cannot be read: {error.strerror}") from error
        if len(content) > _MAX_BYTES:
            raise RegistryError(f"{self.path} is not a registry: it has more than {_MAX_BYTES:,} bytes")
        try:
            topics = json.loads(content, object_pairs_hook=_without_doubles, parse_constant=refuse_constant)
        except (ValueError, RecursionError) as error:
            raise RegistryError(f"{self.path} is not a registry: it is not JSON ({error})") from None
        return self._checked(topics)

    def _checked(self, topics: Any) -> dict[str, dict[str, Any]]:
        if not isinstance(topics, dict):
            raise RegistryError(f"{self.path} is not a registry: it has no JSON object")
        for name, entries in topics.items():
            if language_of(name) is None:
                raise RegistryError(f"{self.path} is not a registry: {name!r} is not plugin-LANGUAGE-topic")
            if not isinstance(entries, dict):
                raise RegistryError(f"{self.path} is not a registry: {name} has no object of aliases")
        return topics

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the lock of all writers of this file. The system frees it, however the writer ends."""
        try:
            descriptor = os.open(f"{os.path.realpath(self.path)}.lock", os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise RegistryError(f"{error.filename} cannot be created: {error.strerror}") from error
        try:
            lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _replace(self, topics: dict[str, dict[str, Any]]) -> None:
        try:
            with OutputFile(self.path, overwrite=True) as output:
                output.file.write(json.dumps(topics, indent=2).encode() + b"\n")
        except OSError as error:
            raise RegistryError(f"the registry {self.path} cannot be written: {error.strerror}") from error


def _catalog(topics: dict[str, dict[str, Any]]) -> Catalog:
    builder = CatalogBuilder()
    for name, entries in topics.items():
        language = language_of(name)
        if language is not None:
            builder.language(language)
            for alias, value in entries.items():
                # null removes an alias, as in a topic.
                builder.put(language, alias, value)
    return builder.finish()


def _changed(topics: dict[str, dict[str, Any]], changes: list[Change]) -> dict[str, dict[str, Any]]:
    """Return the topics with these changes; an invalid entry stays where it is."""
    changed = {name: dict(entries) for name, entries in topics.items()}
    for change in changes:
        entries = changed.setdefault(topic_of(change.language), {})
        entries.pop(change.alias, None)
        if change.entry is not None:
            entries[change.alias] = change.entry.to_dict()
    return changed


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        name, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"{name!r} occurs twice")
    return found


#: A registry has at most 16 plugins; a file of many megabytes is a segment that was named by mistake.
_MAX_BYTES = 16 << 20


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
