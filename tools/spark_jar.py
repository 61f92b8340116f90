"""Build the jar of the columnar reader for Spark: `make jar` calls it.

    python tools/spark_jar.py DIRECTORY

The Java sources of jvm/ are compiled against the jars of the installed PySpark. The library in DIRECTORY, which Cargo built with the
feature `jvm`, goes into the jar under the name of this platform. Equal inputs give equal bytes.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent.parent
JAVA = ROOT / "jvm"
TARGET = ROOT / "python/logsegment/spark/jvm/logsegment-spark.jar"
PACKAGE = "io/github/logsegment/spark"
#: The names of systems and processors that a JVM has, by those of Python.
SYSTEMS = {"Darwin": "mac", "Linux": "linux", "Windows": "windows"}
PROCESSORS = {"x86_64": "amd64", "AMD64": "amd64", "arm64": "aarch64", "aarch64": "aarch64"}
LIBRARIES = {"Darwin": "liblogsegment.dylib", "Linux": "liblogsegment.so", "Windows": "logsegment.dll"}
#: The oldest time that a zip file can have.
TIME = (1980, 1, 1, 0, 0, 0)


def main(directory: Path) -> None:
    """Write the jar."""
    version = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert version is not None
    system = platform.system()
    with tempfile.TemporaryDirectory() as classes:
        compile_to(Path(classes))
        files = {str(path.relative_to(classes)): path.read_bytes() for path in Path(classes).rglob("*.class")}
    files |= {str(path.relative_to(JAVA)): path.read_bytes() for path in (JAVA / "META-INF").rglob("*") if path.is_file()}
    files[f"{PACKAGE}/version.txt"] = version[1].encode()
    library = f"{SYSTEMS[system]}-{PROCESSORS[platform.machine()]}/{LIBRARIES[system]}"
    files[f"{PACKAGE}/native/{library}"] = (directory / LIBRARIES[system]).read_bytes()
    files |= {f"META-INF/{name}": (ROOT / name).read_bytes() for name in ("LICENSE", "LICENSE-binary", "NOTICE")}
    staged = TARGET.with_suffix(".tmp")
    with zipfile.ZipFile(staged, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as jar:
        for name, data in [("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\r\n\r\n"), *sorted(files.items())]:
            jar.writestr(zipfile.ZipInfo(name, TIME), data, zipfile.ZIP_DEFLATED, 9)
    staged.replace(TARGET)


def compile_to(classes: Path) -> None:
    """Compile the Java sources; a warning is an error."""
    spark = find_spec("pyspark")
    assert spark is not None, "PySpark is not installed"
    assert spark.origin is not None
    sources = sorted(map(str, (JAVA / PACKAGE).glob("*.java")))
    jars = Path(spark.origin).parent / "jars" / "*"
    # Annotations of libraries that are not there, and paths in the manifests of jars, are no matter of these sources.
    lint = "-Xlint:all,-processing,-classfile,-path"
    subprocess.run(["javac", "--release", "17", lint, "-proc:none", "-d", str(classes), "-cp", str(jars), *sources], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
