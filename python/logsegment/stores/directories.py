"""Directories of this machine: their files and directories, and the entries that cannot be read."""

from __future__ import annotations

import os
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of a directory. Links are followed.

    Attributes:
        files: regular files.
        directories: directories.
        special: FIFOs, sockets and devices: a read of one may wait forever.
        broken: links that cannot be followed, each with the reason.
    """

    files: list[os.DirEntry[str]] = field(default_factory=list)
    directories: list[os.DirEntry[str]] = field(default_factory=list)
    special: list[os.DirEntry[str]] = field(default_factory=list)
    broken: list[tuple[os.DirEntry[str], str]] = field(default_factory=list)


def list_directory(path: str) -> Listing:
    """List a directory, by name.

    Raises:
        OSError: if the directory cannot be listed.
    """
    listing = Listing()
    with os.scandir(path) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        try:
            _add(entry, listing)
        except OSError as error:
            listing.broken.append((entry, error.strerror or str(error)))
    return listing


def _add(entry: os.DirEntry[str], listing: Listing) -> None:
    if entry.is_dir():
        listing.directories.append(entry)
    elif entry.is_file():
        listing.files.append(entry)
    else:
        # It fails for a link that leads nowhere, and for an entry that was removed meanwhile.
        entry.stat()
        listing.special.append(entry)
