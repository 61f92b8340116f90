"""Find the code of a plugin by the name in its entry, and make a codec of it."""

from __future__ import annotations

import importlib
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from operator import attrgetter
from typing import Any, cast

from logsegment.plugins.codec import Codec
from logsegment.plugins.entries import Entry
from logsegment.plugins.stopping import is_stop

#: Packages offer codecs under this group of entry points; the name is the one that an entry says as its class or as its alias.
GROUP = "logsegment.codecs"
_READY = "logsegment.plugins.ready."


class PluginNotInstalled(ImportError):
    """The code of a registered plugin is not here, or is no codec."""


@lru_cache(maxsize=64)
def load(entry: Entry) -> Codec:
    """Make the codec of an entry. One is made for the same entry, and used for all batches.

    The class is looked for as `package.module:Class`, else among the entry points of the group `logsegment.codecs` by the name of the
    class and by the alias. Looking for it imports that module: a registry must be trusted as much as the Python path.

    Args:
        entry: of the registry of the language "python".

    Returns:
        A codec: ``Class.from_entry(entry)`` where there is such a method, else ``Class()``.

    Raises:
        PluginNotInstalled: when there is no such class, it cannot be imported or made, or what it makes has neither `compress` and
            `decompress` nor a table of C functions. The text says why.

    Example:
        >>> from logsegment.plugins import Entry
        >>> from logsegment.plugins.loading import load
        >>> load(Entry(3, "fast", "no.such.package:Codec", "v1.0"))
        Traceback (most recent call last):
        ...
        logsegment.plugins.loading.PluginNotInstalled: No module named 'no'

    Source: KIP-984, `pluginClassName`.
    """
    try:
        codec = _made(entry)
    except PluginNotInstalled:
        raise
    except ImportError as error:
        # Those that come along have their libraries by an extra.
        advice = "; pip install 'logsegment[codecs]'" if entry.class_name.startswith(_READY) else ""
        raise PluginNotInstalled(f"{error}{advice}") from error
    except BaseException as error:
        # A module that ends its process when it is imported is no plugin, and ends nothing else.
        if is_stop(error):
            raise
        raise PluginNotInstalled(f"{entry.class_name} cannot be made: {type(error).__name__}: {error}") from error
    return codec


def _made(entry: Entry) -> Codec:
    found = _found(entry)
    codec: Any = found.from_entry(entry) if hasattr(found, "from_entry") else found() if isinstance(found, type) else found
    if not isinstance(codec, Codec) and not hasattr(codec, "__logsegment_codec__"):
        raise PluginNotInstalled(f"{entry.class_name} has no methods compress and decompress")
    return cast("Codec", codec)


def _found(entry: Entry) -> Any:
    module, colon, name = entry.class_name.partition(":")
    if colon:
        try:
            return attrgetter(name)(importlib.import_module(module))
        except AttributeError as error:
            raise PluginNotInstalled(f"{module} has no {name}") from error
    offered = _offered(entry.class_name) or _offered(entry.alias)
    if offered is None:
        raise PluginNotInstalled(
            f"{entry.class_name!r} is neither package.module:Class nor the name of an entry point of the group {GROUP}, "
            "as a package offers it that holds codecs"
        )
    return offered.load()


def _offered(name: str) -> EntryPoint | None:
    return next(iter(entry_points(group=GROUP, name=name)), None)
