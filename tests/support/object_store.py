"""A server on loopback that answers the requests of S3 clients: list, head, get, put, copy and delete.

Directories are buckets, files are objects.

It needs the standard library alone, and checks no signature. Tests against a server of others: tests/interop/test_s3_store.py.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

#: How HTTP shows a time.
HTTP_TIME = "%a, %d %b %Y %H:%M:%S GMT"


@contextmanager
def serving(buckets: Path, *, is_bucket: bool = False) -> Iterator[dict[str, str]]:
    """Serve the directories in `buckets`; yield the environment in which S3 clients find the server.

    Args:
        buckets: a directory.
        is_bucket: it stands for every bucket.
    """

    class Serving(Handler):
        root = buckets
        is_one = is_bucket

    server = ThreadingHTTPServer(("127.0.0.1", 0), Serving)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_address[1]}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }
    finally:
        server.shutdown()
        server.server_close()


def written(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def tag_of(path: Path) -> str:
    status = path.stat()
    return f'"{status.st_size}-{status.st_mtime_ns}"'


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    root: Path
    is_one: bool
    protocol_version = "HTTP/1.1"
    # Without these an answer in two packets takes 40 ms: the second one waits until the client confirms the first one.
    wbufsize = 64 << 10
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        bucket, key = self._place(self.path)
        if key:
            self._object(bucket / key)
        else:
            self._listing(bucket)

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        path = Path(*self._place(self.path))
        source = self.headers.get("x-amz-copy-source")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if source is not None:
            copied = Path(*self._place(source))
            if not copied.is_file():
                self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
                return
            body = copied.read_bytes()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        self._answer(200, b"" if source is None else b"<CopyObjectResult><ETag>1</ETag></CopyObjectResult>")

    def do_DELETE(self) -> None:
        Path(*self._place(self.path)).unlink(missing_ok=True)
        self._answer(204, b"")

    def do_POST(self) -> None:
        """Delete several objects."""
        bucket, _ = self._place(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        keys = re.findall("<Key>(.*?)</Key>", body)
        for key in keys:
            (bucket / unescape(key)).unlink(missing_ok=True)
        deleted = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
        self._answer(200, f"<DeleteResult>{deleted}</DeleteResult>".encode())

    def _place(self, path: str) -> tuple[Path, str]:
        """Return the directory of a bucket, and a key."""
        bucket, _, key = unquote(urlsplit(path).path).strip("/").partition("/")
        return (self.root if self.is_one else self.root / bucket), key

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
                objects += f"<Contents><Key>{escape(key)}</Key><Size>{path.stat().st_size}</Size><ETag>{escape(tag_of(path))}</ETag>"
                objects += f"<LastModified>{written(path).isoformat()}</LastModified></Contents>"
        count = objects.count("<Key>") + len(prefixes)
        objects += "".join(f"<CommonPrefixes><Prefix>{escape(prefix)}</Prefix></CommonPrefixes>" for prefix in sorted(prefixes))
        self._answer(
            200, f"<ListBucketResult><IsTruncated>false</IsTruncated><KeyCount>{count}</KeyCount>{objects}</ListBucketResult>".encode()
        )

    def _object(self, path: Path) -> None:
        if not path.is_file():
            return self._answer(404, b"" if self.command == "HEAD" else b"<Error><Code>NoSuchKey</Code></Error>")
        tag, size = tag_of(path), path.stat().st_size
        headers = {"ETag": tag, "Last-Modified": written(path).strftime(HTTP_TIME)}
        if self.headers.get("If-Match", tag) != tag:
            return self._answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        unit, _, span = self.headers.get("Range", "").partition("=")
        if unit != "bytes":
            return self._answer(200, path.read_bytes(), headers)
        start, end = (int(edge) for edge in span.split("-"))
        part = self.part(path, start, end + 1)
        return self._answer(206, part, headers | {"Content-Range": f"bytes {start}-{start + len(part) - 1}/{size}"})

    def part(self, path: Path, start: int, end: int) -> bytes:
        """Return the bytes of a range of a file."""
        with path.open("rb") as file:
            file.seek(start)
            return file.read(end - start)

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        more = {"Content-Length": str(len(body)), "ETag": '"1"', "Last-Modified": datetime.now(UTC).strftime(HTTP_TIME)} | (headers or {})
        for name, value in more.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.send_body(body)

    def send_body(self, body: bytes) -> None:
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""
