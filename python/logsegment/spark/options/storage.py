"""Options of the store: `storage.NAME`, and the settings of a session for Hadoop's file systems as their defaults.

PySpark makes a data source in a process without the session. The jar reads the settings (`StoreSettings.java`) and sends them in an
option. They become options of the URIs that they are for, so that tasks carry them and no plan shows them.

Sources: "Hadoop-AWS module" and "Hadoop Azure Support: ABFS" in Hadoop's documentation; `Constants` of S3A.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from logsegment._core import Place
from logsegment._places import with_options
from logsegment.spark.options.names import STORAGE_PREFIX, lowered

#: The option in which the jar sends the settings, as a JSON object.
SETTINGS = "jvm.hadoop"
_PATHS = ("path", "schemas.path")
#: Names of Hadoop's own settings, which Spark writes in lower case in options.
_SPELLINGS = {"fs.defaultfs": "fs.defaultFS"}
#: Names of options of S3 without `aws_`, of which an explicit one replaces all settings for the same purpose.
_KEYS = {"access_key_id", "secret_access_key", "session_token", "token", "skip_signature", "web_identity_token_file", "role_arn"}
_ENDPOINTS = {"endpoint", "endpoint_url", "endpoint_url_s3"}
_REGIONS = {"region", "default_region"}
_STYLE = "virtual_hosted_style_request"
#: Words of the options of Azure that are credentials.
_AZURE_KEYS = ("key", "token", "client", "federated", "msi", "tenant", "signature", "cli", "fabric")
#: An endpoint of AWS itself, perhaps with its region. A client finds it by the region.
_OF_AWS = re.compile(r"(?:https?://)?s3(?:[.-](?P<region>[a-z]+(?:-[a-z]+)+-[0-9]+))?[.]amazonaws[.]com/?")


def storage_options(options: Mapping[str, str]) -> dict[str, str] | None:
    """Return the options of the store, `storage.NAME`; None if there is none.

    Args:
        options: Spark's options, names in lower case.
    """
    found = {name.removeprefix(STORAGE_PREFIX): value for name, value in options.items() if name.startswith(STORAGE_PREFIX)}
    return {_SPELLINGS.get(name, name): value for name, value in found.items()} or None


def with_settings(given: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's options with the settings of the session in the URIs, and without the option that has the settings.

    Raises:
        ValueError: if a URI has a key, a password or settings.
    """
    options = dict(given)
    text = next((options.pop(name) for name in list(options) if name.lower() == SETTINGS), None)
    if text is None:
        return options
    settings, explicit = json.loads(text), storage_options(lowered(options)) or {}

    def reached(path: str) -> str:
        found = store_defaults(path, settings, explicit)
        return with_options(path, found) if found else path

    for name, value in options.items():
        if name.lower() in _PATHS:
            options[name] = reached(value)
        elif name.lower() == "paths":
            options[name] = json.dumps([reached(path)[:] for path in json.loads(value)])
    return options


def store_defaults(path: str, settings: Mapping[str, str], explicit: Iterable[str]) -> dict[str, str]:
    """Return the options of the store of a path that the settings of a session give.

    Args:
        path: a path of this machine or a URI.
        settings: by Hadoop's names, without `spark.hadoop.`.
        explicit: the names of the options that the query has. They take precedence.

    Raises:
        ValueError: if a URI has a key, a password or settings.

    Example:
        >>> from logsegment.spark.options.storage import store_defaults
        >>> store_defaults("s3a://bucket/orders-0", {"fs.s3a.endpoint.region": "eu-west-1"}, ())
        {'aws_region': 'eu-west-1'}
    """
    by_scheme: dict[str, Callable[[Place, Mapping[str, str], Iterable[str]], dict[str, str]]] = {
        "s3": _of_s3,
        "abfs": _of_azure,
        "abfss": _of_azure,
        "hdfs": _of_hdfs,
        "viewfs": _of_hdfs,
    }
    place = Place(path)
    if place.scheme not in by_scheme:
        return {}
    present = {name: value.strip() for name, value in settings.items() if value.strip()}
    return by_scheme[place.scheme](place, present, explicit)


def _of_s3(place: Place, settings: Mapping[str, str], explicit: Iterable[str]) -> dict[str, str]:
    def setting(name: str) -> str | None:
        """Return a setting of the bucket, or of all buckets."""
        return settings.get(f"fs.s3a.bucket.{place.host}.{name}", settings.get(f"fs.s3a.{name}"))

    names = {name.removeprefix("aws_") for name in explicit}
    found: dict[str, str | None] = {}
    key, secret = setting("access.key"), setting("secret.key")
    if key and secret and not names & _KEYS:
        found |= {"aws_access_key_id": key, "aws_secret_access_key": secret, "aws_session_token": setting("session.token")}
    endpoint, region = setting("endpoint"), setting("endpoint.region")
    if endpoint and (of_aws := _OF_AWS.fullmatch(endpoint)):
        endpoint, region = None, region or of_aws["region"]
    if not names & _REGIONS:
        found["aws_region"] = region
    if not names & _ENDPOINTS:
        if endpoint and "://" not in endpoint:
            is_plain = setting("connection.ssl.enabled") == "false"
            endpoint = f"{'http' if is_plain else 'https'}://{endpoint}"
        style = setting("path.style.access") if _STYLE not in names else None
        if style is not None:
            is_virtual = style.lower() != "true" and _has_names(endpoint) and "." not in place.host
            found[f"aws_{_STYLE}"] = str(is_virtual).lower()
            if endpoint and is_virtual:
                # object_store expects the bucket in the endpoint then.
                endpoint = endpoint.replace("://", f"://{place.host}.", 1)
        found["aws_endpoint"] = endpoint
    return {name: value for name, value in found.items() if value}


def _has_names(endpoint: str | None) -> bool:
    """Return True if buckets can be names below the host of an endpoint: an address has none."""
    host = urlsplit(endpoint or "").hostname or ""
    try:
        ip_address(host)
    except ValueError:
        return True
    return False


def _of_azure(place: Place, settings: Mapping[str, str], explicit: Iterable[str]) -> dict[str, str]:
    if any(word in name for name in explicit for word in _AZURE_KEYS):
        return {}
    account, dot, domain = place.host.partition(".")
    service, _, cloud = domain.partition(".")
    hosts = [place.host, *(f"{account}.{endpoint}.{cloud}" for endpoint in ("dfs", "blob") if dot and endpoint != service)]
    key = next((settings[name] for name in (f"fs.azure.account.key.{host}" for host in hosts) if name in settings), None)
    return {"azure_storage_account_key": key} if key else {}


def _of_hdfs(place: Place, settings: Mapping[str, str], explicit: Iterable[str]) -> dict[str, str]:
    node = settings.get("fs.defaultFS", "")
    is_wanted = not place.host and node.startswith(f"{place.scheme}://") and "fs.defaultFS" not in explicit
    return {"fs.defaultFS": node} if is_wanted else {}
