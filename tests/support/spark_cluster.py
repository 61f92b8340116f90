"""A standalone Spark cluster on this machine, made of what pip installs: a master and two workers, each a process of its own."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from loopback import free_port

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
WORKERS = 2
START_SECONDS = 90
#: The Python and the packages of executors are to come from what the application says.
OWN = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")


@contextmanager
def standalone(directory: Path) -> Iterator[str]:
    """The URL of a master that two workers of one core each have found. They are on different hosts: a task never runs twice on one."""
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        arguments = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
        master = stack.enter_context(running(directory / "master.log", "org.apache.spark.deploy.master.Master", *arguments))
        await_text(master, directory / "master.log", "New state: ALIVE", 1)
        for number in range(WORKERS):
            arguments = [
                "--host",
                f"127.0.0.{number + 1}",
                "--cores",
                "1",
                "--memory",
                "1g",
                "--webui-port",
                "0",
                "--work-dir",
                str(directory / f"work-{number}"),
            ]
            log = directory / f"worker-{number}.log"
            worker = stack.enter_context(running(log, "org.apache.spark.deploy.worker.Worker", *arguments, url))
            await_text(worker, log, "Successfully registered with master", 1)
        yield url


@contextmanager
def running(log: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = {name: value for name, value in os.environ.items() if name not in OWN}
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m", "SPARK_NO_DAEMONIZE": "1"}
    with log.open("wb") as output:
        # spark-class becomes the JVM, so this id is the JVM's.
        process = subprocess.Popen([str(SPARK_CLASS), *command], stdout=output, stderr=subprocess.STDOUT, env=environment)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def await_text(process: subprocess.Popen[bytes], log: Path, text: str, times: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while log.read_text(errors="replace").count(text) < times:
        assert process.poll() is None, f"it ended:\n{log.read_text(errors='replace')[-4000:]}"
        assert time.monotonic() < deadline, f"no {text!r} after {START_SECONDS} s:\n{log.read_text(errors='replace')[-4000:]}"
        time.sleep(0.1)
