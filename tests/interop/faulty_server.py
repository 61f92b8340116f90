"""An S3 server that fails as a seed says: errors, answers that are cut or too short, silence, and another version of an object."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from s3_server import BUCKET, KEY, SECRET, Server
from store_server import Answer, Request

#: Before the seed in the `User-Agent` of a run: requests of several runs come at the same time.
AGENT = "faults-"
#: Seconds without a byte after which a client gives up, and for which the server says nothing unless the run ends.
READ_TIMEOUT, SILENCE = 1, 20
#: Most silent answers of a run: each of them takes READ_TIMEOUT.
MOST_SILENT = 3
#: The tag of the other version.
OTHER_TAG = '"another-version"'


class Faults:
    """The faults of a run. They follow from the seed, the request and how often it came: the order of the requests does not matter.

    Attributes:
        seed: the seed.
        kinds: what may happen.
        rate: how often.
        other: the other version of an object by the path of its requests. All answers have that version after the first one has it.
        happened: counts what happened, by its kind.
    """

    KINDS = ("internal", "slow_down", "forbidden", "cut", "short", "silent", "replaced")

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.seed = seed
        self.kinds = chance.sample(self.KINDS, chance.choice([1, 1, 1, 2, 3]))
        self.rate = chance.choice([0.03, 0.1, 0.3, 0.6] if "silent" not in self.kinds else [0.03, 0.1])
        # Sometimes nothing is answered, however often it is requested.
        if chance.random() < 0.03:
            self.rate = 1.0
        self.other: dict[str, bytes] = {}
        self.happened: Counter[str] = Counter()
        self._is_over = threading.Event()
        self._seen: Counter[tuple[str, ...]] = Counter()
        self._lock = threading.Lock()

    def end(self) -> None:
        """End the answers that are held back."""
        self._is_over.set()

    def answer(self, request: Request, forward: Callable[[Request], Answer]) -> Answer:
        """Answer a request, or fail."""
        path, ranges = request.path.partition("?")[0], _header(request.headers, "range") or ""
        name = (request.method, request.path, ranges)
        with self._lock:
            self._seen[name] += 1
            chance = random.Random(repr((self.seed, *name, self._seen[name])))
            kind = chance.choice(self.kinds) if chance.random() < self.rate else None
            if kind == "silent" and self.happened["silent"] >= MOST_SILENT and self.rate < 1:
                kind = None
            is_replaced = path in self.other and (self.happened["replaced"] or kind == "replaced")
            if kind is not None and (kind != "replaced" or is_replaced):
                self.happened[kind] += 1
        if kind in _ERRORS:
            return _error(request, *_ERRORS[kind])
        if is_replaced:
            return _replaced(request, self.other[path], chance)
        answer = forward(request)
        if kind == "cut":
            # A body without a byte cannot end early: then there is no answer.
            return answer._replace(sent=chance.randrange(-1, len(answer.body)) if answer.body else -1)
        if kind == "silent":
            return answer._replace(sent=chance.choice([-1, len(answer.body) // 2]), ending=lambda: self._is_over.wait(SILENCE))
        if kind == "short" and answer.body:
            return _short(answer, chance)
        return answer


class FaultyServer(Server):
    """An S3 server whose answers fail for clients that name the seed of a run."""

    def __init__(self, place: Path) -> None:
        self.runs: dict[str, Faults] = {}
        super().__init__(place)

    def options_of(self, faults: Faults) -> dict[str, str]:
        """Return the options of a client that gets the faults of a run. Nothing that other runs have opened is opened again."""
        agent = f"{AGENT}{faults.seed}"
        self.runs[agent] = faults
        return {**self.options, "user_agent": agent, "read_timeout": f"{READ_TIMEOUT}s"}

    def answer(self, request: Request) -> Answer:
        """Return the answer of the server, or the fault of the run of the client."""
        faults = self.runs.get(_header(request.headers, "user-agent") or "")
        return self.forward(request) if faults is None else faults.answer(request, self.forward)


def path_of(key: str) -> str:
    """Return the path of the requests for a key."""
    return f"/{BUCKET}/{key}"


class _Failure(NamedTuple):
    status: int
    reason: str
    code: str


_ERRORS = {
    "internal": _Failure(500, "Internal Server Error", "InternalError"),
    "slow_down": _Failure(503, "Slow Down", "SlowDown"),
    "forbidden": _Failure(403, "Forbidden", "AccessDenied"),
}


def _error(request: Request, status: int, reason: str, code: str) -> Answer:
    """Return an error that repeats the keys."""
    body = f"<Error><Code>{code}</Code><Message>no answer for {KEY}</Message><Key>{SECRET}</Key></Error>".encode()
    headers = [("Content-Length", str(len(body))), ("Content-Type", "application/xml")]
    return Answer(status, reason, headers, b"" if request.method == "HEAD" else body)


def _short(answer: Answer, chance: random.Random) -> Answer:
    """Return a valid answer with fewer bytes than were requested. Some servers name the range that they return."""
    body = answer.body[: chance.randrange(len(answer.body))]
    headers = [*_without(answer.headers, "content-length"), ("Content-Length", str(len(body)))]
    span = _header(answer.headers, "content-range")
    if span is not None and body and chance.random() < 0.5:
        start, size = int(span.removeprefix("bytes ").partition("-")[0]), span.rpartition("/")[2]
        headers = [*_without(headers, "content-range"), ("Content-Range", f"bytes {start}-{start + len(body) - 1}/{size}")]
    return answer._replace(headers=headers, body=body)


def _replaced(request: Request, data: bytes, chance: random.Random) -> Answer:
    """Return the answer for another version of the object. Some servers ignore the condition that it is still the first version."""
    if _header(request.headers, "if-match") not in (None, OTHER_TAG) and chance.random() < 0.5:
        body = b"<Error><Code>PreconditionFailed</Code><Message>At least one of the conditions did not hold</Message></Error>"
        return Answer(412, "Precondition Failed", [("Content-Length", str(len(body)))], body)
    headers = [("ETag", OTHER_TAG), ("Last-Modified", "Wed, 01 Jan 2025 00:00:00 GMT"), ("Accept-Ranges", "bytes")]
    span = _header(request.headers, "range")
    start, end = map(int, span.removeprefix("bytes=").split("-")) if span else (0, len(data) - 1)
    body = data[start : end + 1]
    headers.append(("Content-Length", str(len(body))))
    if span:
        headers.append(("Content-Range", f"bytes {start}-{start + len(body) - 1}/{len(data)}"))
    status, reason = (206, "Partial Content") if span else (200, "OK")
    return Answer(status, reason, headers, b"" if request.method == "HEAD" else body)


def _header(headers: Sequence[tuple[str, str]], name: str) -> str | None:
    return next((value for given, value in headers if given.lower() == name), None)


def _without(headers: Sequence[tuple[str, str]], *names: str) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers if name.lower() not in names]
