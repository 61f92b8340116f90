"""The schemas of a registry over HTTP: Confluent's API, which Karapace and Apicurio (below `/apis/ccompat/v7`) have too.

Apicurio's own API, next to it, has the global ids of schemas.

All schemas are read once, when the set is made. The set asks nothing later, so that it can be pickled and sent to workers; only
`SchemaSet.register` does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from logsegment.schemas.model import Framing, Schema, SchemaReference, SchemaSet, SubjectVersion
from logsegment.schemas.registry_log import context_of, guid_of

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
#: The code of the API for a subject, a version or a schema that is not there (any more).
_NOT_FOUND = 404
#: Most bytes of one answer.
_MOST_BYTES = 64 << 20
#: In a URL of Apicurio: its API that is Confluent's, and its own.
_COMPATIBLE, _OWN = "/apis/ccompat/", "/apis/registry/"
#: Versions in one answer of Apicurio's own API.
_MOST_VERSIONS = 500
#: Most characters of a reason in an error.
_MOST_REASON = 500
_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"


def from_registry(
    url: str,
    *,
    subjects: list[str] | None = None,
    auth: tuple[str, str] | None = None,
    bearer: str | None = None,
    headers: Mapping[str, str] | None = None,
    ca_file: str | None = None,
    client_certificate: tuple[str, str] | None = None,
    timeout: float = 10.0,
    framing: Framing = "auto",
) -> SchemaSet:
    """Read the schemas of a registry over HTTP. Nothing is written to the registry; `SchemaSet.register` writes to it.

    Args:
        url: of the registry, such as `https://registry:8081`, or `http://apicurio:8080/apis/ccompat/v7`.
        subjects: the subjects to read, with all schemas that they refer to; None for all.
        auth: user and password of basic authentication.
        bearer: a token, instead of `auth`.
        headers: further headers of each request.
        ca_file: certificates of authorities that the registry's certificate is verified with; None for those of the system.
        client_certificate: files of a certificate and its key, for TLS with client authentication.
        timeout: seconds to wait for an answer.
        framing: see `SchemaSet`.

    Returns:
        A `SchemaSet`, as `from_log` gives it for the log of the same registry. Softly deleted versions are in it with their state;
        versions that were deleted for good are not, which only the log knows. Pickled, it does not have the password or token.

    Raises:
        ImportError: if httpx is not installed; `pip install "logsegment[registry]"`.
        ValueError: if an argument is invalid, or the answer is not one of a registry.
        OSError: if the registry cannot be reached, or refuses the request. The text does not have the password or token.

    Example:
        >>> import logsegment as ls
        >>> ls.schemas.from_registry("ftp://registry")
        Traceback (most recent call last):
        ...
        ValueError: url must begin with http:// or https://, not 'ftp://registry'

    Source: the API reference of Confluent's schema registry.
    """
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url must begin with http:// or https://, not {url!r}")
    if auth is not None and bearer is not None:
        raise ValueError("auth and bearer exclude each other")
    given = dict(headers or {}) | ({} if bearer is None else {"Authorization": f"Bearer {bearer}"})
    options: dict[str, Any] = {"auth": auth, "headers": given, "timeout": timeout}

    def register(subject: str, schema: Schema) -> int:
        with _opened(url, options, ca_file, client_certificate) as client:
            return _Registry(client).register(subject, schema)

    with _opened(url, options, ca_file, client_certificate) as client:
        return SchemaSet(tuple(_Registry(client).schemas(subjects)), framing, register)


class _Registry:
    """The answers of one registry; each schema is asked for once."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        url = client.base_url
        self.place = str(url.copy_with(userinfo=b"")).rstrip("/")
        self.found: dict[tuple[str, int], dict[str, Any]] = {}
        self.versions: dict[tuple[str, int], list[SubjectVersion]] = {}
        self.read: set[str] = set()
        self.global_ids: dict[int, set[int]] = {}

    def schemas(self, subjects: list[str] | None) -> Iterator[Schema]:
        """Yield the schemas of subjects by context and id, each with its versions."""
        for subject in self._names() if subjects is None else subjects:
            self._read(subject)
        for (context, schema_id), one in sorted(self.found.items()):
            references = _references(one)
            guid = one.get("guid") or guid_of(one["schema"], references, {name: one.get(name) for name in ("metadata", "ruleSet")})
            versions = tuple(sorted(self.versions[context, schema_id]))
            global_ids = tuple(sorted(self.global_ids.get(schema_id, ()))) if context == "" else ()
            yield Schema(one.get("schemaType") or "AVRO", one["schema"], schema_id, guid, references, versions, context, global_ids)

    def register(self, subject: str, schema: Schema) -> int:
        """Register a schema, and return its id.

        Raises:
            OSError: if the registry cannot be reached or refuses.
            ValueError: if the answer has no id.
        """
        path = f"/subjects/{quote(subject, safe='')}/versions"
        references = [{"name": one.name, "subject": one.subject, "version": one.version} for one in schema.references]
        body = {"schema": schema.text, "schemaType": schema.type} | ({"references": references} if references else {})
        answer = self._answer("POST", path, content=json.dumps(body), headers={"Content-Type": _CONTENT_TYPE})
        found = answer.get("id") if isinstance(answer, dict) else None
        if not isinstance(found, int):
            raise self._not_a_registry(path, TypeError("no id"))
        return found

    def _names(self) -> list[str]:
        # The wildcard asks for the subjects of all contexts, where the registry has contexts.
        return self._list("/subjects", str, deleted="true", subjectPrefix=":*:") or self._list("/subjects", str, deleted="true")

    def _read(self, subject: str) -> None:
        if subject in self.read:
            return
        self.read.add(subject)
        path = f"/subjects/{quote(subject, safe='')}/versions"
        live, ids = set(self._list(path, int)), set[int]()
        for version in self._list(path, int, deleted="true") or sorted(live):
            one = self._get(f"{path}/{version}", deleted="true")
            if one is None:
                continue
            try:
                schema_id, text, references = int(one["id"]), str(one["schema"]), _references(one)
            except (KeyError, TypeError, ValueError) as error:
                raise self._not_a_registry(f"{path}/{version}", error) from None
            place = context_of(subject), schema_id
            self.found.setdefault(place, one | {"schema": text})
            self.versions.setdefault(place, []).append(SubjectVersion(subject, version, "live" if version in live else "deleted"))
            ids.add(schema_id)
            for reference in references:
                self._read(reference.subject)
        for content_id, global_id in self._global_ids(subject):
            # Unless the API gives global ids as ids, which a server can be set to.
            if content_id in ids:
                self.global_ids.setdefault(content_id, set()).add(global_id)

    def _global_ids(self, subject: str) -> list[tuple[int, int]]:
        """Return the content id and the global id of each version of a subject, which Apicurio's own API has; none of another registry."""
        for api in ("v3", "v2") if _COMPATIBLE in self.place else ():
            path = f"{_OWN}{api}/groups/default/artifacts/{quote(subject, safe='')}/versions"
            pairs: list[tuple[int, int]] = []
            while found := self._get(path, limit=f"{_MOST_VERSIONS}", offset=f"{len(pairs)}"):
                try:
                    more = [(int(one["contentId"]), int(one["globalId"])) for one in found["versions"]]
                    pairs += more
                    if not more or len(pairs) >= int(found["count"]):
                        return pairs
                except (KeyError, TypeError, ValueError) as error:
                    raise self._not_a_registry(path, error) from None
        return []

    def _list(self, path: str, kind: type[T], **parameters: str) -> list[T]:
        """Return the items of an answer; none for what is not there."""
        found = self._get(path, **parameters) or []
        if not isinstance(found, list) or not all(isinstance(one, kind) for one in found):
            raise self._not_a_registry(path, TypeError(f"not a list of {kind.__name__}"))
        return found

    def _get(self, path: str, **parameters: str) -> Any:
        """Return an answer; None for what is not there.

        Raises:
            OSError: if the registry cannot be reached or refuses.
            ValueError: if the answer is not JSON.
        """
        return self._answer("GET", path, params=parameters)

    def _answer(self, method: str, path: str, **request: Any) -> Any:
        import httpx

        try:
            with self.client.stream(method, self._url(path), **request) as answer:
                if answer.status_code == _NOT_FOUND and method == "GET":
                    return None
                content = bytearray()
                for part in answer.iter_bytes():
                    content += part
                    if len(content) > _MOST_BYTES:
                        raise ValueError(f"the answer of the registry at {self.place} to {path} has more than {_MOST_BYTES} bytes")
                if not answer.is_success:
                    reason = f"{answer.status_code} {answer.reason_phrase}{_reason(content) if method == 'POST' else ''}"
                    raise OSError(f"the registry at {self.place} refuses {path}: {reason}")
        except httpx.HTTPError as error:
            raise OSError(f"the registry at {self.place} cannot be reached: {error}") from None
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._not_a_registry(path, error) from None

    def _url(self, path: str) -> httpx.URL | str:
        """Return the URL of a path, below the one that was given unless the path is of Apicurio's own API."""
        if not path.startswith(_OWN):
            return path
        url = self.client.base_url
        root, _, _ = url.raw_path.partition(_COMPATIBLE.encode())
        return url.copy_with(raw_path=root + path.encode())

    def _not_a_registry(self, path: str, error: Exception) -> ValueError:
        return ValueError(f"{self.place} is not a schema registry: its answer to {path}: {type(error).__name__}: {error}")


def _reason(content: bytearray) -> str:
    """Return what a registry says about a schema that it refuses."""
    try:
        message = json.loads(content)["message"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return ""
    return f": {str(message)[:_MOST_REASON]}"


def _references(one: Mapping[str, Any]) -> tuple[SchemaReference, ...]:
    return tuple(SchemaReference(each["name"], each["subject"], each["version"]) for each in one.get("references") or ())


@contextmanager
def _opened(url: str, options: dict[str, Any], ca_file: str | None, certificate: tuple[str, str] | None) -> Iterator[httpx.Client]:
    """Open a client with a TLS context of its own."""
    try:
        import httpx
    except ModuleNotFoundError:
        raise ImportError('schemas.from_registry needs httpx: pip install "logsegment[registry]"') from None
    # Few reads need it, and its import takes longer than that of this package.
    context = import_module("ssl").create_default_context(cafile=None if ca_file is None else str(Path(ca_file)))
    if certificate is not None:
        context.load_cert_chain(*certificate)
    with httpx.Client(base_url=url.rstrip("/"), verify=context, **options) as client:
        yield client
