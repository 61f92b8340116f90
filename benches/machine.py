"""What the figures were measured on: processor, cores, memory and versions; no names of hosts or people."""

import os
import platform
import re
import subprocess
from importlib import metadata

PACKAGES = ["logsegment", "pyarrow", "pyspark", "polars", "duckdb", "pandas"]
TOOLS = {"rustc": ["rustc", "--version"], "java": ["java", "-version"], "go": ["go", "version"]}


def describe():
    """A dict of strings and numbers, in the order in which the report shows them."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gib": memory_gib(),
        "system": platform.system(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        **tools(),
        **packages(),
    }


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            found = re.search(r"model name\s*: (.*)", file.read())
    except OSError:
        found = None
    return found.group(1) if found else platform.processor()


def memory_gib():
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def tools():
    return {name: first_version(command) for name, command in TOOLS.items()}


def first_version(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "not found"
    found = re.search(r"\d+\.\d+[\w.]*", done.stdout + done.stderr)
    return found.group(0) if found else "unknown"


def packages():
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found
