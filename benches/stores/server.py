"""An S3 server on loopback that answers late and slowly, as one across a network does.

    python -m benches.stores.server DIR DELAY_MS MEGABYTES_A_SECOND

DIR stands for every bucket. Each answer comes after DELAY_MS, and each connection gives at most so many megabytes a second; 0 is no limit.
Prints the port, and on SIGTERM the bytes that it gave.
"""

import mmap
import signal
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path

from benches.paths import ROOT

sys.path.insert(0, str(ROOT / "tests" / "support"))

import object_store

PIECE = 256 << 10


class Slow(object_store.Handler):
    """Answers late and slowly.

    Attributes:
        delay: seconds before each answer.
        rate: bytes a second of a connection; 0 is no limit.
    """

    delay, rate = 0.0, 0
    given, lock = [0], threading.Lock()

    def do_GET(self):
        time.sleep(self.delay)
        super().do_GET()

    do_HEAD = do_GET

    def part(self, path, start, end):
        """Return a range of a file that nobody changes, without a copy: the server must take little of the time of the reader."""
        with path.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[start:end]

    def send_body(self, body):
        with self.lock:
            self.given[0] += len(body)
        begin = time.perf_counter()
        for at in range(0, len(body), PIECE):
            self.wfile.write(body[at : at + PIECE])
            if self.rate:
                time.sleep(max(0.0, begin + (at + PIECE) / self.rate - time.perf_counter()))


def main(directory, delay_ms, megabytes):
    """Serve until SIGTERM."""
    limits = {"delay": int(delay_ms) / 1000, "rate": int(megabytes) * 10**6}
    handler = type("Serving", (Slow,), {"root": Path(directory), "is_one": True, **limits})
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    signal.sigwait([signal.SIGTERM])
    print(Slow.given[0], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
