"""A disk that is full, or a limit of the system: the error names the output, and nothing is left."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import corpus
import tiered_corpus as tiered

DATA = corpus.CORPUS / "modern-4.1.0/data"
PARTITION = DATA / "codec-none-0"
SEGMENT = PARTITION / "00000000000000000000.log"
#: Each command writes more than 4 KiB to `out`, a file or a directory.
COMMANDS = {
    "salvage a file": ["salvage", SEGMENT, "--output", "out"],
    "salvage a directory": ["salvage", PARTITION, "--output", "out"],
    "convert a file": ["convert", SEGMENT, "--compression", "gzip", "--output", "out"],
    "convert a directory": ["convert", PARTITION, "--compression", "gzip", "--output", "out"],
    "rewrite a file": ["rewrite", SEGMENT, "--drop", "offsets=0..1", "--output", "out"],
    "rewrite a directory": ["rewrite", PARTITION, "--drop", "offsets=0..1", "--output", "out"],
    "compact": ["compact", DATA / "codec-lz4-0", "--output", "out"],
    "split": ["split", PARTITION, "--bytes", "100000", "--output", "out"],
    "join": ["join", SEGMENT, "--output", "out"],
    "arrow": ["cat", SEGMENT, "--arrow", "out"],
    "parquet": ["cat", SEGMENT, "--parquet", "out"],
    "restore": ["restore", tiered.folder("plain"), "out"],
}


def limited(arguments: list[object], place: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line where no file may be larger than 4 KiB."""
    command = shlex.join([sys.executable, "-m", "logsegment", *map(str, arguments)])
    return subprocess.run(["bash", "-c", f"ulimit -f 4; exec {command}"], cwd=place, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("case", COMMANDS)
def test_the_error_names_the_output(case: str, tmp_path: Path) -> None:
    done = limited(COMMANDS[case], tmp_path)
    assert done.returncode == 2, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("logsegment: out"), done.stderr
    assert "File too large" in last
    assert ".part" not in last
    assert not list(tmp_path.iterdir())


PYTHON = """
import resource, sys
import logsegment as ls
import pyarrow as pa
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
table = pa.table({"value": [bytes([n]) * 1000 for n in range(200)]})
source = sys.argv[1]
for write in (
    lambda: ls.encode(table, out="out"),
    lambda: ls.convert(source, out="out", compression="none", to="v2", batch_bytes=1000),
    lambda: ls.salvage(ls.FileSource(source), out="out"),
    lambda: ls.rewrite(source, "out", drop=[b"none"]),
):
    try:
        write()
    except OSError as error:
        print(error.filename, error.strerror)
"""


def test_errors_of_the_python_api_have_the_name_too(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PYTHON, str(SEGMENT)], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["out File too large"] * 4
    assert not list(tmp_path.iterdir())
