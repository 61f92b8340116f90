"""Errors of stores as OSErrors with one clear sentence, and with the URI without its secrets."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from logsegment.stores.uri import parts_of, scrubbed, shown

#: Words of the answers of stores in the errors of pyarrow.
_REFUSED = re.compile(r"ACCESS_DENIED|HTTP status 40[13]|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|Forbidden|Unauthorized|[Pp]ermission")
_MISSING = re.compile(r"NO_SUCH_(?:BUCKET|KEY)|HTTP status 404|Path does not exist|not found|does not exist")
_DOWN = re.compile(r"NETWORK_CONNECTION|REQUEST_TIMEOUT|curlCode|[Cc]onnection|[Tt]imed? ?out|resolve host|UnknownHost")
_NO_LIBRARY = re.compile(r"Unable to load (lib\w+)")
#: Letters of a message that are shown.
_MAX_LETTERS = 400


class ShortReadError(OSError):
    """Raised when a file gives fewer bytes than it has at a position."""


class ChangedError(OSError):
    """Raised when a file was replaced while it was read."""


@contextmanager
def clear_errors(uri: str) -> Iterator[None]:
    """Turn the errors of pyarrow into one clear OSError."""
    try:
        yield
    except (ShortReadError, ChangedError, MemoryError, KeyboardInterrupt):
        raise
    except (OSError, ValueError, NotImplementedError) as error:
        raise _clear(error, uri) from None


def _clear(error: Exception, uri: str) -> OSError:
    place, text = shown(uri), _sentence(scrubbed(str(error), uri))
    if isinstance(error, (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)):
        return type(error)(error.errno or errno.ENOENT, os.strerror(error.errno or errno.ENOENT), place)
    if isinstance(error, OSError) and _REFUSED.search(text):
        return PermissionError(errno.EACCES, f"the store refused the request: {text}", place)
    if isinstance(error, OSError) and _MISSING.search(text):
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place)
    if isinstance(error, OSError) and _DOWN.search(text):
        return ConnectionError(errno.ECONNREFUSED, f"the store does not respond: {text}", place)
    if isinstance(error, (ValueError, NotImplementedError)):
        return OSError(errno.EINVAL, f"pyarrow.fs does not accept the URI: {text}", place)
    return OSError(errno.EIO, text, place)


def _sentence(text: str) -> str:
    """Return one line of a message, without the place in Arrow's code."""
    if found := _NO_LIBRARY.search(text):
        return f"pyarrow cannot find {found[1]}: HDFS needs a Hadoop client with JAVA_HOME, HADOOP_HOME and CLASSPATH set (see the guide)"
    line = " ".join(text.split(". Detail:")[0].split())
    return line if len(line) <= _MAX_LETTERS else f"{line[:_MAX_LETTERS]}..."


def no_directory(uri: str) -> OSError:
    """Return the error for a URI of which there is neither a file nor a directory."""
    parts = parts_of(uri)
    text = os.strerror(errno.ENOENT) if parts.path else "the URI has no bucket, container or directory"
    return FileNotFoundError(errno.ENOENT, text, shown(uri))
