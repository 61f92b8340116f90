"""Import the class that an entry names, and make a codec of it.

Each reader of a registry imports the modules of its entries. So an entry may name only an entry point of the group `logsegment.codecs`,
a codec of logsegment, or a module that the caller allows.
"""

from __future__ import annotations

import importlib
import signal
import sys
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

#: The group of entry points of codecs; the name is the class or the alias of an entry.
GROUP = "logsegment.codecs"
#: Patterns that allow every module.
ANY = ("*",)


class PluginNotInstalled(ImportError):
    """Raised if the code of a registered plugin is not installed, or is not a codec."""


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
    """Return the codec of an entry, which is made once and used for all batches.

    The class is `package.module:Class`, or an entry point of the group `logsegment.codecs` with the name of the class or the alias. Only
    allowed modules are imported.

    Args:
        entry: of the registry of the language "python".
        allow: patterns of modules that an entry may name in addition to entry points and the codecs of logsegment. `package.*` is
            the package and all modules in it, `*` every module.

    Returns:
        A codec: ``Class.from_entry(entry)`` if there is such a method, else ``Class()``.

    Raises:
        PluginNotInstalled: if the class is not allowed, does not exist, cannot be imported or called, or makes an object without `compress`
            and `decompress` and without a table of C functions. The text says why.

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
        # The libraries of the codecs of logsegment are an extra; pip cannot add bz2 or lzma to a Python that was built without them.
        is_extra = entry.class_name in READY and error.name not in sys.stdlib_module_names
        advice = "; pip install 'logsegment[codecs]'" if is_extra else ""
        raise PluginNotInstalled(f"{error}{advice}") from error
    except BaseException as error:
        # A module that raises SystemExit is not a plugin, and does not end this process.
        if is_stop(error):
            raise
        raise PluginNotInstalled(f"{entry.class_name} cannot be created: {type(error).__name__}: {error}") from error
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
            f"{entry.class_name!r} is neither package.module:Class nor an entry point of the group {GROUP}"
            "as a package offers it that holds codecs"
        )
    return offered.load()


def _ensure_allowed(class_name: str, module: str, allow: tuple[str, ...]) -> None:
    if class_name in READY or any(_matches(module, pattern) for pattern in allow):
        return
    if not any(class_name == f"{point.module}:{point.attr}" for point in entry_points(group=GROUP)):
        raise PluginNotInstalled(
            f"the registry may not load {class_name!r}: it is not an entry point of the group {GROUP}; to load it, pass "
            f"allow=[{module!r}] to the registry (Spark: option plugins.allow, command line: --allow-plugin)"
        )


def _matches(module: str, pattern: str) -> bool:
    return fnmatchcase(module, pattern) or (pattern.endswith(".*") and fnmatchcase(module, pattern.removesuffix(".*")))


def _offered(name: str) -> EntryPoint | None:
    return next(iter(entry_points(group=GROUP, name=name)), None)


def is_stop(error: BaseException) -> bool:
    """Return True if a signal raised an exception, which then ends the program.

    Ctrl-C does, and handlers of signals, such as a SystemExit at SIGTERM. A SystemExit of a plugin does not.

    Args:
        error: the exception with its traceback.

    Example:
        >>> from logsegment.plugins.loading import is_stop
        >>> is_stop(KeyboardInterrupt()), is_stop(SystemExit(3))
        (True, False)
    """
    if isinstance(error, KeyboardInterrupt):
        return True
    handlers = {getattr(signal.getsignal(number), "__code__", None) for number in signal.valid_signals()} - {None}
    return any(frame.f_code in handlers for frame, _ in traceback.walk_tb(error.__traceback__))
