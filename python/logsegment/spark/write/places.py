"""Names below the target of a write.

A broker, a reader and a writer may use the same directory. So directories that are not part of a log have a name that brokers know: readers
skip `<any>-<n>.<32 hex digits>-delete`, and a broker deletes it. Files next to the partition directories begin with a dot.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from functools import reduce
from uuid import uuid4

from logsegment._core import Place, PlaceEntry
from logsegment._log_paths import partition_of
from logsegment._places import is_stored, join_path

#: The directory of a job, with the files of its tasks and the segments that the commit makes of them.
_STAGING = re.compile(r"_staging-0\.([0-9a-f]{32})-delete")
_CLAIMS = "claims-"
_REPLACED = re.compile(r"_replaced-[0-9]+\.[0-9a-f]{32}-delete")
#: Seconds without a change in the directory of a job after which the job is dead.
ABANDONED_AFTER = 24 * 60 * 60


def new_job() -> str:
    """Return a name that no other job has."""
    return uuid4().hex


def below(target: str, *names: str) -> str:
    """Return a path below the target."""
    return reduce(join_path, names, target)


def staging_name(job: str) -> str:
    """Return the name of the directory of a job."""
    return f"_staging-0.{job}-delete"


def staging(target: str, job: str) -> str:
    """Return the directory of a job."""
    return below(target, staging_name(job))


def claims(above: str, writer: str) -> str:
    """Return the directory for the claims of a writer, below the directory of its job: a repeated batch of a stream has another writer."""
    return below(above, f"{_CLAIMS}{writer}")


def replaced(number: int, job: str) -> str:
    """Return a name for the directory of a partition that a write replaces."""
    return f"_replaced-{number}.{job}-delete"


def partitions_of(target: str) -> dict[str, tuple[str, int]]:
    """Return topic and partition of the partition directories in the target, by their names, without those that a broker gave up."""
    try:
        names = [entry.name for entry in Place(target).entries() if entry.is_directory]
    except FileNotFoundError:
        return {}
    found = {name: partition_of(name) for name in names if not name.endswith(("-delete", "-stray", "-future"))}
    return {name: (topic, partition) for name, (topic, partition) in found.items() if topic is not None and partition is not None}


def known_partitions(target: str) -> dict[str, int]:
    """Return the number of partitions of the topics in the target."""
    counts: dict[str, int] = {}
    for topic, partition in partitions_of(target).values():
        counts[topic] = max(counts.get(topic, 0), partition + 1)
    return counts


def remove_staging(target: str, job: str) -> None:
    """Remove the directory of a job, as far as possible."""
    above = staging(target, job)
    if not is_stored(target):
        # A task that Spark did not wait for may make files meanwhile: under another name, it finds no directory for them.
        aside = below(target, replaced(0, new_job()))
        with suppress(OSError):
            os.rename(above, aside)
            above = aside
        Place(above).remove(tree=True)
        return
    # Claims first: a task that misses its claim takes back what it sent after the rest was listed.
    with suppress(OSError):
        for entry in Place(above).entries():
            if entry.name.startswith(_CLAIMS):
                Place(entry.path).remove(tree=True)
    with suppress(OSError):
        Place(above).remove(tree=True)


def remove_leftovers(target: str, *jobs: str | None) -> None:
    """Remove the directories of these jobs, replaced directories, and the directories of dead jobs."""
    for job in filter(None, jobs):
        remove_staging(target, job)
    with suppress(OSError):
        for entry in Place(target).entries():
            with suppress(OSError):
                if entry.is_directory and (_REPLACED.fullmatch(entry.name) or _is_abandoned(entry)):
                    Place(entry.path).remove(tree=True)


def _is_abandoned(entry: PlaceEntry) -> bool:
    """Return True for the directory of a dead job. The clock of a store may differ from ours, but not by a day."""
    if not _STAGING.fullmatch(entry.name):
        return False
    times = [file.modified for file in (entry, *Place(entry.path).files_below()) if file.modified is not None]
    return bool(times) and max(times) < time.time() - ABANDONED_AFTER
