"""HDFS on loopback: Hadoop's mini cluster from Maven Central, and the libhdfs by which pyarrow speaks to it.

No registry has a libhdfs that is built. Its C sources lie in the source package of pydoop; they are compiled once, below `target/interop`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path

import eras
import short_lived_java
from loopback import free_port
from made_once import made_once

#: MiniDFSCluster itself calls mockito.
HADOOP = eras.Era("hadoop-3.4.2", ("org.apache.hadoop:hadoop-client-minicluster:3.4.2", "org.mockito:mockito-core:4.11.0"), ())
PYDOOP = "2.0.0"
NEEDED_COMMANDS = (*eras.NEEDED_COMMANDS, "cc")


class Server:
    """A running name node with one data node.

    Attributes:
        environment: what a process needs that opens URIs of it.
    """

    def __init__(self, place: Path) -> None:
        self.port = free_port()
        self.environment = environment()
        self._log = (place / "hdfs.log").open("wb")
        options = ["-Xmx512m", *short_lived_java.OPTIONS, "-Djava.net.preferIPv4Stack=true", "-cp", eras.resolved(HADOOP)]
        command = ["java", *options, str(eras.JAVA_SOURCES / "MiniHdfs.java"), str(self.port), str(place / "data")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, cwd=place)
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            self.close()
            raise RuntimeError(f"HDFS did not start:\n{(place / 'hdfs.log').read_text(errors='replace')[-4000:]}")

    def uri(self, path: str = "") -> str:
        return f"hdfs://127.0.0.1:{self.port}/{path}"

    def close(self) -> None:
        """Stop both nodes."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def environment() -> dict[str, str]:
    """What pyarrow needs to find libhdfs, and that to find Java and Hadoop's classes."""
    return {
        "JAVA_HOME": str(java_home()),
        "CLASSPATH": eras.resolved(HADOOP),
        "ARROW_LIBHDFS_DIR": str(library().parent),
        "LIBHDFS_OPTS": " ".join(["-Xmx128m", "-Xrs", *short_lived_java.OPTIONS]),
    }


@cache
def java_home() -> Path:
    """The Java whose compiler is on the path."""
    javac = shutil.which("javac")
    assert javac is not None
    return Path(javac).resolve().parents[1]


@cache
def library() -> Path:
    """libhdfs.so, made when it is not there."""
    place = eras.WORK / f"libhdfs-{PYDOOP}"
    built = place / "libhdfs.so"
    with made_once(place):
        if not built.exists():
            place.mkdir(parents=True, exist_ok=True)
            unfinished = place / "libhdfs.unfinished"
            subprocess.run(compiling(sources(place), unfinished), check=True, capture_output=True)
            unfinished.rename(built)
    return built


def sources(place: Path) -> Path:
    """The directory of libhdfs in pydoop's source package."""
    constraints = place / "constraints.txt"
    # Only to tell its name and version, pip runs the package's setup.py, which is of the time before this. Newer pips look at the second.
    constraints.write_text("setuptools<70\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(place)]
    settings = dict.fromkeys(("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT"), str(constraints)) | {"JAVA_HOME": str(java_home())}
    given = os.environ | settings
    done = subprocess.run([*command, f"pydoop=={PYDOOP}"], env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    with tarfile.open(place / f"pydoop-{PYDOOP}.tar.gz") as package:
        package.extractall(place, filter="data")
    return place / f"pydoop-{PYDOOP}" / "src" / "libhdfs"


def compiling(place: Path, to: Path) -> list[str]:
    files = [str(file) for folder in (".", "common", "os/posix") for file in sorted((place / folder).glob("*.c"))]
    java = java_home()
    headers = [place, place / "include", place / "os/posix", java / "include", java / "include/linux"]
    virtual_machine = java / "lib/server"
    linked = [f"-L{virtual_machine}", "-ljvm", f"-Wl,-rpath,{virtual_machine}", "-lpthread", "-ldl"]
    return ["cc", "-shared", "-fPIC", "-O1", "-w", *(f"-I{folder}" for folder in headers), *files, *linked, "-o", str(to)]
