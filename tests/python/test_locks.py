"""No call waits for the interpreter while it keeps others from it. A case has a process of its own: a deadlock holds everything."""

import subprocess
import sys

import pytest

from corpus import CORPUS

SEGMENT = CORPUS / "modern-4.1.0/data/many-tiny-records-0/00000000000000000000.log"

LOOKING = """
import threading, time
class Slow:
    def __init__(self, path): self.file = open(path, "rb")
    def read(self, n):
        time.sleep(0.01)
        return self.file.read(min(n, 2000))
stream = ls.decode(Slow(path), columns=["offset"])
done = threading.Event()
def look():
    while not done.is_set(): stream.findings, stream.io_stats, stream.error
watcher = threading.Thread(target=look); watcher.start()
rows = sum(len(batch) for batch in stream)
done.set(); watcher.join()
assert rows > 0
"""

DROPPING = """
import io
data = open(path, "rb").read() * 50
for _ in range(20):
    stream = ls.decode(io.BytesIO(data), threads=2, columns=["offset"])
    next(iter(stream))
    del stream
"""


@pytest.mark.parametrize("script", [LOOKING, DROPPING], ids=["looking at a stream that another thread reads", "dropping an unread stream"])
def test_nothing_waits_for_ever(script: str):
    program = f"import logsegment as ls\npath = {str(SEGMENT)!r}\n{script}"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
