"""GCS and Azure alone: credentials that are missing or malformed, tokens, and endpoints. test_every_store.py has the rest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

import azure_server
import every_store
import gcs_server
from every_store import Store
from logsegment._core import Place
from logsegment._places import with_options
from loopback import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(120)]
#: A shared access signature with a signature that the server does not accept.
TOKEN = "sv=2023-11-03&se=2099-01-01T00%3A00%3A00Z&sr=c&sp=rl&sig=d3Jvbmctc2lnbmF0dXJlLW9mLXRoZS10ZXN0cw%3D%3D"


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Store]]:
    with pytest.MonkeyPatch.context() as environment, every_store.running(tmp_path_factory.mktemp("stores")) as named:
        every_store.clear(environment)
        yield named


@pytest.fixture(params=["gs", "az"])
def store(request: pytest.FixtureRequest, started: Callable[[str], Store]) -> Store:
    found = started(request.param)
    Place(found.place("a")).put(b"a")
    return found


@pytest.mark.parametrize("store", ["az"], indirect=True)
def test_a_token_is_not_shown(store: Store) -> None:
    options = {name: value for name, value in store.options.items() if not name.endswith("_key")} | {"azure_storage_sas_token": TOKEN}
    down = options | {"azure_endpoint": f"http://127.0.0.1:{free_port()}/{azure_server.ACCOUNT}"}
    for expected, given in ((PermissionError, options), (ConnectionError, down)):
        for ask in (lambda uri: Place(uri).entries(), lambda uri: Place(uri).open(), lambda uri: Place(uri).put(b"b")):
            with pytest.raises(expected) as raised:
                ask(with_options(store.uri("a"), given))
            store.assert_clean(raised.value, store.uri("a"))
            assert "d3Jvbmctc2ln" not in f"{raised.value!r} {raised.value}"


@pytest.mark.parametrize("store", ["gs"], indirect=True)
def test_a_public_bucket_is_read_without_credentials(store: Store) -> None:
    options = {"google_base_url": store.options["google_base_url"], "google_skip_signature": "true"}
    assert Place(with_options(store.uri("a"), options)).read() == b"a"


def test_options_of_another_store_are_errors(store: Store) -> None:
    with pytest.raises(ValueError, match='unknown storage option "aws_secret_access_key"') as raised:
        Place(store.place(aws_secret_access_key="secret-of-the-tests")).entries()
    store.assert_no_secret(str(raised.value))
    assert "secret-of-the-tests" not in str(raised.value)


@pytest.mark.parametrize("store", ["az"], indirect=True)
def test_an_endpoint_may_end_with_a_slash(store: Store) -> None:
    assert Place(store.place("a", azure_endpoint=f"{store.options['azure_endpoint']}/")).read() == b"a"


def test_without_credentials_access_is_denied_soon(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The metadata service of the machine is a port at which nothing listens."""
    for name in ("GCE_METADATA_HOST", "GCE_METADATA_IP", "GCE_METADATA_ROOT"):
        monkeypatch.setenv(name, f"127.0.0.1:{free_port()}")
    options = {name: value for name, value in store.options.items() if not name.endswith("_key")}
    options |= {"azure_msi_endpoint": f"http://127.0.0.1:{free_port()}/token"} if store.name == "az" else {}
    with pytest.raises(PermissionError, match="no credentials"):
        Place(with_options(store.uri(), options)).entries()


@pytest.mark.parametrize(
    ("store", "value"),
    [
        ("az", "not base64 of the tests"),
        ("gs", "not JSON of the tests"),
        ("gs", json.dumps({"private_key": gcs_server.PRIVATE_KEY, "private_key_id": "id", "client_email": "a@b"})),
    ],
    indirect=["store"],
)
def test_a_malformed_key_is_an_error_that_names_the_option(store: Store, value: str) -> None:
    name = "google_service_account_key" if store.name == "gs" else "azure_storage_account_key"
    with pytest.raises(ValueError, match=name) as raised:
        Place(store.place(**{name: value})).entries()
    assert "of the tests" not in str(raised.value)
    store.assert_no_secret(str(raised.value))
