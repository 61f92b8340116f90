"""HDFS on loopback: Hadoop's mini cluster from Maven Central, and Hadoop's own shell to see what is there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import eras
import short_lived_java
from loopback import free_port

#: MiniDFSCluster itself calls mockito.
HADOOP = eras.Era("hadoop-3.4.2", ("org.apache.hadoop:hadoop-client-minicluster:3.4.2", "org.mockito:mockito-core:4.11.0"), ())
NEEDED_COMMANDS = eras.NEEDED_COMMANDS
#: The shell does not start without such a file.
CORE_SITE = "<configuration><property><name>fs.defaultFS</name><value>{}</value></property></configuration>"


class Server:
    """A running name node with one data node."""

    def __init__(self, place: Path) -> None:
        self.port = free_port()
        self._place = place
        (place / "core-site.xml").write_text(CORE_SITE.format(self.uri()))
        self._log = (place / "hdfs.log").open("wb")
        command = [*java("-Xmx512m"), "-cp", eras.resolved(HADOOP), str(eras.JAVA_SOURCES / "MiniHdfs.java")]
        arguments = [str(self.port), str(place / "data")]
        self._process = subprocess.Popen([*command, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, cwd=place)
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            self.close()
            raise RuntimeError(f"HDFS did not start:\n{(place / 'hdfs.log').read_text(errors='replace')[-4000:]}")

    def uri(self, path: str = "") -> str:
        return f"hdfs://127.0.0.1:{self.port}/{path}"

    @property
    def options(self) -> dict[str, str]:
        """A setting that has its default: it shows that options are accepted."""
        return {"dfs.client.use.datanode.hostname": "false"}

    def tree(self, path: str) -> list[str]:
        """The absolute paths of all files and directories below a path, as Hadoop's shell lists them."""
        command = [*java("-Xmx128m"), "-cp", f"{self._place}:{eras.resolved(HADOOP)}", "org.apache.hadoop.fs.FsShell"]
        done = subprocess.run([*command, "-ls", "-C", "-R", path], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-4000:]
        return sorted(done.stdout.splitlines())

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


def java(memory: str) -> list[str]:
    return ["java", memory, *short_lived_java.OPTIONS, "-Djava.net.preferIPv4Stack=true"]
