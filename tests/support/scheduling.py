"""The tests that a worker of pytest-xdist takes together."""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

#: Files that share nothing that is dear between their functions: each function may run in another worker.
SPREAD = {"tests/python/test_corpus.py", "tests/python/test_docs.py", "tests/python/test_hostile.py"}
SPREAD |= {"tests/python/test_simulation.py"}


class FileScheduling(LoadScopeScheduling):
    """Give a file to one worker, for its fixtures; of the files of SPREAD give it a function with all of its cases."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid.partition("[")[0] if file in SPREAD else file
