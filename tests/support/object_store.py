"""A server on loopback that answers the requests by which S3 clients read: list, head and get. Directories are buckets, files are objects.

It needs the standard library alone and checks no signature. The tests against a server that is not ours are tests/interop/test_s3_store.py.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from logsegment.stores import files

#: When all objects were written, and how HTTP shows it: a client that sees two times takes the object for another one.
WRITTEN = datetime(2026, 1, 1, tzinfo=UTC)
HTTP_TIME = "%a, %d %b %Y %H:%M:%S GMT"


@contextmanager
def serving(buckets: Path) -> Iterator[dict[str, str]]:
    """Serve the directories in `buckets`; yield the environment in which S3 clients find the server. Objects must not change."""

    class Handler(_Handler):
        root = buckets

    # What was opened by the same names on a server before this one.
    files._file_system.cache_clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_address[1]}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    root: Path
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        bucket, _, key = unquote(urlsplit(self.path).path).strip("/").partition("/")
        if key:
            self._object(self.root / bucket / key)
        else:
            self._listing(self.root / bucket)

    do_HEAD = do_GET

    def _listing(self, bucket: Path) -> None:
        """All objects with the prefix on one page; with a delimiter, prefixes for what is below."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        objects, prefixes = "", set()
        for path in sorted(path for path in bucket.rglob("*") if path.is_file()):
            key = path.relative_to(bucket).as_posix()
            below = key.removeprefix(prefix)
            if key.startswith(prefix) and delimiter and delimiter in below:
                prefixes.add(prefix + below.partition(delimiter)[0] + delimiter)
            elif key.startswith(prefix):
                objects += f"<Contents><Key>{escape(key)}</Key><Size>{path.stat().st_size}</Size><ETag>1</ETag>"
                objects += f"<LastModified>{WRITTEN.isoformat()}</LastModified></Contents>"
        count = objects.count("<Key>") + len(prefixes)
        objects += "".join(f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>" for one in sorted(prefixes))
        self._answer(
            200, f"<ListBucketResult><IsTruncated>false</IsTruncated><KeyCount>{count}</KeyCount>{objects}</ListBucketResult>".encode()
        )

    def _object(self, path: Path) -> None:
        if not path.is_file():
            return self._answer(404, b"" if self.command == "HEAD" else b"<Error><Code>NoSuchKey</Code></Error>")
        data = path.read_bytes()
        unit, _, span = self.headers.get("Range", "").partition("=")
        if unit != "bytes":
            return self._answer(200, data)
        start, end = (int(edge) for edge in span.split("-"))
        part = data[start : end + 1]
        return self._answer(206, part, {"Content-Range": f"bytes {start}-{start + len(part) - 1}/{len(data)}"})

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        more = {"Content-Length": str(len(body)), "ETag": '"1"', "Last-Modified": WRITTEN.strftime(HTTP_TIME)} | (headers or {})
        for name, value in more.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""
