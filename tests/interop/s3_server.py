"""An S3-compatible server on loopback: s3proxy from Maven Central over a directory, with a gate before it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import eras
import short_lived_java
import store_server
from store_server import Fetched, GatedServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Maven takes an older jackson-annotations from elsewhere in the tree unless it is named.
S3PROXY = eras.Era("s3proxy-4.1.0", ("org.gaul:s3proxy:4.1.0", "com.fasterxml.jackson.core:jackson-annotations:2.21"), ())
KEY, SECRET = "access-key-of-the-tests", "secret/key+of-the-tests"
#: In all keys of the tests, however they are quoted.
MARK = "of-the-tests"
BUCKET = "lake"
NEEDED_COMMANDS = ("java", "mvn")


class Server(GatedServer):
    """A running server. Files below `bucket` are its objects.

    Attributes:
        bucket: the directory of the bucket.
    """

    def __init__(self, place: Path) -> None:
        super().__init__("s3proxy", place / "s3proxy.log")
        self.bucket = place / "data" / BUCKET
        self.bucket.mkdir(parents=True)
        settings = place / "s3proxy.conf"
        settings.write_text(SETTINGS.format(port=self.upstream, key=KEY, secret=SECRET, data=place / "data"))
        quiet = place / "logback.xml"
        quiet.write_text(QUIET)
        options = ["-Xmx256m", *short_lived_java.OPTIONS, f"-Dlogback.configurationFile={quiet}", "-cp", eras.resolved(S3PROXY)]
        self.start(["java", *options, "org.gaul.s3proxy.Main", "--properties", str(settings)])

    def uri(self, key: str = "") -> str:
        """The URI of a key."""
        return f"s3://{BUCKET}/{key}"

    @property
    def environment(self) -> dict[str, str]:
        """What a reader must know, in the usual variables."""
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://{self.address}",
        }

    @property
    def options(self) -> dict[str, str]:
        """The same as options of a store."""
        return {name.lower(): value for name, value in self.environment.items()}

    def put(self, source: Path, key: str) -> str:
        """Copy a file or a directory into the bucket; gives the key."""
        target = self.bucket / key
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
        return key


@contextmanager
def serving(place: Path) -> Iterator[Server]:
    """A server that this process and those that it starts find in the usual variables."""
    server = Server(place)
    try:
        with pytest.MonkeyPatch.context() as environment:
            for name in [name for name in os.environ if name.startswith("AWS_")]:
                environment.delenv(name)
            for name, value in server.environment.items():
                environment.setenv(name, value)
            yield server
    finally:
        server.close()


@contextmanager
def spark_workers(server: Server) -> Iterator[SparkSession]:
    """The session of the tests with the source registered, whose Python workers find a server in the usual variables.

    They have the variables of the process that started the session, and those of its context when a source is registered.
    """
    from logsegment.spark import register
    from spark_session import spark_session

    with pytest.MonkeyPatch.context() as environment:
        # A session that starts now goes on after the server.
        for name in server.environment:
            environment.delenv(name, raising=False)
        session = spark_session()
    with pytest.MonkeyPatch.context() as given:
        for name, value in server.environment.items():
            given.setitem(session.sparkContext.environment, name, value)
        register(session)
        yield session
    register(session)


def assert_no_secret(*texts: str) -> None:
    """Check that no text has a key, however it is quoted."""
    store_server.assert_no_secret([MARK], *texts)


SETTINGS = """\
s3proxy.endpoint=http://127.0.0.1:{port}
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity={key}
s3proxy.credential={secret}
jclouds.provider=filesystem-nio2
jclouds.filesystem.basedir={data}
jclouds.identity=any
jclouds.credential=any
"""

QUIET = """\
<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%level %logger %msg%n</pattern></encoder></appender>
  <root level="warn"><appender-ref ref="OUT"/></root>
</configuration>
"""

__all__ = ["BUCKET", "KEY", "MARK", "SECRET", "Fetched", "Server", "assert_no_secret", "serving", "spark_workers"]
