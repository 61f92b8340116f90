"""Find the code of a plugin by the name in its entry, and make a codec of it.

Whoever writes an entry names a module that each reader of the registry imports. So an entry may name an entry point of the group
`logsegment.codecs`, a codec that comes with logsegment, or a module that the caller allows.
"""

from __future__ import annotations

import importlib
import signal
import traceback
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from operator import attrgetter
from typing import Any, cast

from logsegment.plugins.codec import Codec
from logsegment.plugins.entry import Entry
from logsegment.plugins.ready import READY

#: Packages offer codecs under this group of entry points; the name is the one that an entry says as its class or as its alias.
GROUP = "logsegment.codecs"
#: The patterns that allow every module.
ANY = ("*",)


class PluginNotInstalled(ImportError):
    """The code of a registered plugin is not here, or is no codec."""


def patterns(allow: Iterable[str]) -> tuple[str, ...]:
    """Return patterns of modules that a registry may name, as a tuple.

    Raises:
        TypeError: if `allow` is one string, or holds anything but strings.
    """
    found = (allow,) if isinstance(allow, str) else tuple(allow)
    if isinstance(allow, str) or not all(isinstance(pattern, str) for pattern in found):
        raise TypeError(f'allow must be a list of module patterns, such as ["package.*"], not {allow!r}')
    return found


@lru_cache(maxsize=64)
def load(entry: Entry, allow: tuple[str, ...] = ()) -> Codec:
    """Make the codec of an entry. One is made for the same entry, and used for all batches.

    The class is looked for as `package.module:Class`, else among the entry points of the group `logsegment.codecs` by the name of the
    class and by the alias. Nothing is imported that the entry may not name.

    Args:
        entry: of the registry of the language "python".
        allow: patterns of modules that an entry may name in addition to entry points and the codecs of logsegment. `package.*` is
            the package and all modules in it, `*` every module.

    Returns:
        A codec: ``Class.from_entry(entry)`` where there is such a method, else ``Class()``.

    Raises:
        PluginNotInstalled: when the entry may not name its class, there is no such class, it cannot be imported or made, or what it makes
            has neither `compress` and `decompress` nor a table of C functions. The text says why.

    Example:
        >>> from logsegment.plugins import Entry
        >>> from logsegment.plugins.loading import load
        >>> load(Entry(3, "fast", "no.such.package:Codec", "v1.0"), ("no.*",))
        Traceback (most recent call last):
        ...
        logsegment.plugins.loading.PluginNotInstalled: No module named 'no'

    Source: KIP-984, `pluginClassName`.
    """
    try:
        codec = _made(entry, allow)
    except PluginNotInstalled:
        raise
    except ImportError as error:
        # Those that come along have their libraries by an extra.
        advice = "; pip install 'logsegment[codecs]'" if entry.class_name in READY else ""
        raise PluginNotInstalled(f"{error}{advice}") from error
    except BaseException as error:
        # A module that ends its process when it is imported is no plugin, and ends nothing else.
        if is_stop(error):
            raise
        raise PluginNotInstalled(f"{entry.class_name} cannot be made: {type(error).__name__}: {error}") from error
    return codec


def _made(entry: Entry, allow: tuple[str, ...]) -> Codec:
    found = _found(entry, allow)
    codec: Any = found.from_entry(entry) if hasattr(found, "from_entry") else found() if isinstance(found, type) else found
    if not isinstance(codec, Codec) and not hasattr(codec, "__logsegment_codec__"):
        raise PluginNotInstalled(f"{entry.class_name} has no methods compress and decompress")
    return cast("Codec", codec)


def _found(entry: Entry, allow: tuple[str, ...]) -> Any:
    module, colon, name = entry.class_name.partition(":")
    if colon:
        _ensure_allowed(entry.class_name, module, allow)
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


def _ensure_allowed(class_name: str, module: str, allow: tuple[str, ...]) -> None:
    if class_name in READY or any(_matches(module, pattern) for pattern in allow):
        return
    if not any(class_name == f"{one.module}:{one.attr}" for one in entry_points(group=GROUP)):
        raise PluginNotInstalled(
            f"the registry may not load {class_name!r}: it is not an entry point of the group {GROUP}; to load it, pass "
            f"allow=[{module!r}] to the registry (Spark: option plugins.allow, command line: --allow-plugin)"
        )


def _matches(module: str, pattern: str) -> bool:
    return fnmatchcase(module, pattern) or (pattern.endswith(".*") and fnmatchcase(module, pattern.removesuffix(".*")))


def _offered(name: str) -> EntryPoint | None:
    return next(iter(entry_points(group=GROUP, name=name)), None)


def is_stop(error: BaseException) -> bool:
    """Tell whether a signal raised this: then it is no fault of the code in which it came, and ends the program.

    Ctrl-C does, and so does what the program's own handlers raise, such as a SystemExit at SIGTERM. A SystemExit of a plugin does not.

    Args:
        error: as it was caught, with its traceback.

    Example:
        >>> from logsegment.plugins.loading import is_stop
        >>> is_stop(KeyboardInterrupt()), is_stop(SystemExit(3))
        (True, False)
    """
    if isinstance(error, KeyboardInterrupt):
        return True
    handlers = {getattr(signal.getsignal(number), "__code__", None) for number in signal.valid_signals()} - {None}
    return any(frame.f_code in handlers for frame, _ in traceback.walk_tb(error.__traceback__))
