"""Registries without end, and answers that are none: each is an error that names the URL, after a bounded number of requests."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import pytest

import logsegment as ls
from http_registry import Answer, serving

pytest.importorskip("httpx")
NAMES = ("max_requests", "max_bytes", "max_depth")


def version(**more: Any) -> dict[str, Any]:
    return {"id": 7, "schema": '"long"', "schemaType": "AVRO", "version": 1} | more


def registry_of(one: Callable[[str], Any], subjects: Any = ("a-value",), versions: Any = (1,)) -> Callable[..., Answer]:
    def answer(path: str, parameters: dict[str, str], headers: Any) -> Answer:
        parts = [unquote(part) for part in path.strip("/").split("/")]
        found = subjects if len(parts) == 1 else versions if len(parts) == 3 else one(parts[1])
        return 200, json.dumps(found).encode()

    return answer


def test_references_without_end_are_bounded_by_depth_and_by_requests():
    def next_one(subject: str) -> Any:
        following = f"{subject}x"
        return version(id=len(subject), references=[{"name": following, "subject": following, "version": 1}])

    with serving(registry_of(next_one)) as url:
        for bounds in ({}, {"max_depth": 20}, {"max_requests": 50}, {"max_bytes": 2_000}):
            with pytest.raises(ValueError, match=rf"{url}.*max_(depth|requests|bytes)="):
                ls.schemas.from_registry(url, **bounds)  # type: ignore[arg-type]


def test_pages_without_end_are_bounded():
    def answer(path: str, parameters: dict[str, str], headers: Any) -> Answer:
        if path.startswith("/apis/registry/"):
            return 200, json.dumps({"count": 10**15, "versions": [{"contentId": 7, "globalId": int(parameters["offset"])}]}).encode()
        answers = {"": ["a"], "/a/versions": [1], "/a/versions/1": version()}
        return 200, json.dumps(answers[path.removeprefix("/apis/ccompat/v7/subjects")]).encode()

    with serving(answer) as url, pytest.raises(ValueError, match=rf"{url}.*max_requests=100 "):
        ls.schemas.from_registry(f"{url}/apis/ccompat/v7", max_requests=100)


def test_versions_without_end_are_bounded():
    with serving(registry_of(lambda _: version(), versions=list(range(1, 1_000)))) as url:
        with pytest.raises(ValueError, match=rf"{url}.*max_requests=30 "):
            ls.schemas.from_registry(url, max_requests=30)
        with pytest.raises(ValueError, match=rf"{url}.*max_bytes=9000 "):
            ls.schemas.from_registry(url, max_bytes=9_000)


@contextmanager
def dripping(head: bytes, drop: bytes) -> Iterator[str]:
    """A server that sends one byte after the other, without end; its URL."""
    server = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.recv(1 << 16)
                    connection.sendall(head)
                    while not ended.wait(0.02):
                        connection.sendall(drop)
                except OSError:
                    pass

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
    finally:
        ended.set()
        server.close()
        thread.join()


@pytest.mark.parametrize(
    ("head", "drop"),
    [(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n[", b" "), (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x")],
    ids=["body", "headers"],
)
def test_slow_bytes_are_bounded_by_the_time_of_all(head: bytes, drop: bytes):
    with dripping(head, drop) as url, pytest.raises(TimeoutError, match=rf"{url}.*max_seconds=0\.5"):
        ls.schemas.from_registry(url, max_seconds=0.5)


ODD: dict[str, Any] = {
    "huge id": version(id=10**30),
    "id of 33 bits": version(id=2**32),
    "id as text": version(id="7"),
    "id true": version(id=True),
    "id null": version(id=None),
    "no id": {"schema": '"long"'},
    "no schema": {"id": 7},
    "schema a number": version(schema=7),
    "schema with a lone surrogate": version(schema='"\ud800"'),
    "unknown type": version(schemaType="XML"),
    "type a list": version(schemaType=["AVRO"]),
    "guid": version(guid="not a guid"),
    "guid a number": version(guid=7),
    "references a number": version(references=7),
    "reference a text": version(references=["x"]),
    "reference without a subject": version(references=[{"name": "x", "version": 1}]),
    "reference with a surrogate": version(references=[{"name": "x", "subject": "\udfff", "version": 1}]),
    "reference with a huge version": version(references=[{"name": "x", "subject": "y", "version": 10**20}]),
    "metadata a text": version(metadata="x"),
    "metadata of numbers": version(metadata={"properties": {"a": 1}}),
    "metadata of nulls": version(metadata={"tags": {"a": [None, 1]}}),
    "a list": [1],
    "a text": "x",
    "a number": 7,
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_is_one_error_that_names_the_url(name: str):
    with serving(registry_of(lambda _: ODD[name])) as url, pytest.raises(ValueError, match=f"{url} is not a schema registry") as caught:
        ls.schemas.from_registry(url)
    assert type(caught.value) is ValueError
    f"{caught.value}".encode()


@pytest.mark.parametrize("subjects", [{"a": 1}, [1], [None], ["\ud800"], [["a"]], "a", 7, [True]])
def test_odd_subjects(subjects: Any):
    with serving(registry_of(lambda _: version(), subjects=subjects)) as url, pytest.raises(ValueError, match=f"{url} is not a schema"):
        ls.schemas.from_registry(url)


@pytest.mark.parametrize("versions", [{"a": 1}, ["1"], [None], [1.5], [True], [10**30], "1", 7])
def test_odd_versions(versions: Any):
    with serving(registry_of(lambda _: version(), versions=versions)) as url, pytest.raises(ValueError, match=f"{url} is not a schema"):
        ls.schemas.from_registry(url)


@pytest.mark.parametrize("body", [b"1" * 10_000, b"[" * 100_000, b"\xff", b'["a"', b"[NaN]"])
def test_bodies_that_are_not_json(body: bytes):
    with serving(lambda *_: (200, body)) as url, pytest.raises(ValueError, match=f"{url} is not a schema registry"):
        ls.schemas.from_registry(url)


def test_bounds_are_above_zero():
    for name in (*NAMES, "max_seconds"):
        with pytest.raises(ValueError, match=f"{name} must be above 0"):
            ls.schemas.from_registry("http://127.0.0.1:1", **{name: 0})  # type: ignore[arg-type]
