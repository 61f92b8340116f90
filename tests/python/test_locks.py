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

READING_WITH_THE_INTERPRETER_HELD = """
import io, polars
data = open(path, "rb").read() * 50
for source in (io.BytesIO(data), bytearray(data)):
    rows = polars.DataFrame(ls.decode(source, threads=2, columns=["offset"], batch_bytes=10_000)).height
    assert rows == ls.decode(data, columns=["offset"]).read_all().num_rows
"""

ASKING_FROM_THE_FILE_OBJECT = """
class Asking:
    def __init__(self, path): self.file = open(path, "rb")
    def read(self, n):
        stream.findings
        return self.file.read(n)
stream = ls.decode(Asking(path), columns=["offset"])
try:
    list(stream)
except RuntimeError as error:
    assert "already being read" in str(error)
else:
    raise AssertionError("nothing was raised")
assert stream.findings == []
"""

ASKING_FROM_A_SIGNAL_HANDLER = """
import signal, threading, time
told = []
def handler(number, frame):
    try: stream.io_stats
    except RuntimeError as error: told.append(str(error))
signal.signal(signal.SIGALRM, handler)
data = open(path, "rb").read() * 3000
for _ in range(20):
    stream = ls.decode(data, batch_size=1 << 30, batch_bytes=1 << 30)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    list(stream)
    if told: break
assert told and "already being read" in told[0]
"""

SCRIPTS = {
    "looking at a stream that another thread reads": LOOKING,
    "dropping an unread stream": DROPPING,
    "reading with the interpreter held": READING_WITH_THE_INTERPRETER_HELD,
    "asking from the file object": ASKING_FROM_THE_FILE_OBJECT,
    "asking from a signal handler": ASKING_FROM_A_SIGNAL_HANDLER,
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_nothing_waits_for_ever(script: str):
    program = f"import logsegment as ls\npath = {str(SEGMENT)!r}\n{script}"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
