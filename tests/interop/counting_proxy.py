"""A port in front of a broker that counts who comes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class CountingProxy:
    """Passes connections on to a server.

    A client of Kafka comes here once: for all that follows it goes to the addresses that it is told.
    """

    def __init__(self, servers: str) -> None:
        host, _, port = servers.rpartition(":")
        self._target = host, int(port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.servers = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=_serve, args=(client, self._target), daemon=True).start()


def _serve(client: socket.socket, target: tuple[str, int]) -> None:
    with client, socket.create_connection(target) as server:
        back = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
        back.start()
        _pass_on(client, server)
        back.join()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(1 << 16):
            sink.sendall(piece)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def counting(servers: str) -> Iterator[CountingProxy]:
    """A proxy for as long as it is needed."""
    proxy = CountingProxy(servers)
    try:
        yield proxy
    finally:
        proxy.close()
