"""What needs a package that is not installed names what to install, in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cli_process import CODEC, CODEC_FILE

#: The package that is not there, what is called, and the words of the error.
CALLS = {
    "pandas": ("pandas", f"ls.Log({str(CODEC)!r}).to_pandas()", 'pip install "logsegment[pandas]"'),
    "polars": ("polars", f"ls.decode({str(CODEC_FILE)!r}).to_polars()", 'pip install "logsegment[polars]"'),
    "pyarrow": ("pyarrow", f"ls.decode({str(CODEC_FILE)!r}).to_pyarrow()", "pip install pyarrow"),
    "polars scan": ("polars", f"ls.polars.scan({str(CODEC)!r})", 'pip install "logsegment[polars]"'),
    "results": ("pyarrow", f"ls.find({str(CODEC)!r}, offset=3).to_arrow()", "pip install pyarrow"),
    "spark": ("pyspark", "import logsegment.spark", 'pip install "logsegment[spark]"'),
    "schemas": ("httpx", "ls.schemas.from_registry('http://localhost:1')", 'pip install "logsegment[registry]"'),
    "registry": ("confluent_kafka", "ls.plugins.TopicRegistry('localhost:1')", "pip install 'logsegment[plugins]'"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_missing_package_is_named(name: str):
    package, call, words = CALLS[name]
    code = f"import sys; sys.modules[{package!r}] = None; import logsegment as ls; {call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1
    assert words in last, done.stderr
    assert last.startswith(("ImportError: ", "ModuleNotFoundError: "))


def test_results_without_pyarrow_are_dicts():
    found = f"ls.find({str(CODEC)!r}, offset=3).to_dict()['places'][0]['offset']"
    code = f"import sys; sys.modules['pyarrow'] = None; import logsegment as ls; print({found})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "3\n"
