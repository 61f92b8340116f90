"""Build the jar of the source for Spark: `make jar` and `make jar-all` call it.

    python tools/spark_jar.py DIRECTORY
    python tools/spark_jar.py --all DIRECTORY...

The Java sources of jvm/ are compiled against the jars of the installed PySpark. The library in DIRECTORY, which Cargo built with the
feature `jvm`, goes into the jar under the name of its platform. With --all the jar has the libraries of several directories, and is also
in a Maven repository below target/maven, with its POM. Equal inputs give equal bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
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
#: Processors by the numbers in the header of a library of Linux.
ELF_PROCESSORS = {62: "amd64", 183: "aarch64"}
#: The jar for all platforms, and the Maven repository with it.
ALL = ROOT / "target/logsegment-spark-all.jar"
MAVEN = ROOT / "target/maven"
GROUP, NAME = "io.github.logsegment", "logsegment-spark"
#: Spark has all that the jar needs.
POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>io.github.logsegment</groupId>
  <artifactId>logsegment-spark</artifactId>
  <version>{version}</version>
  <packaging>jar</packaging>
  <name>logsegment for Spark</name>
  <description>Reads Kafka log segments as a data source of Spark 3.5 to 4.3, without a broker and without Python</description>
  <url>https://github.com/logsegment/logsegment</url>
  <licenses>
    <license>
      <name>Apache-2.0</name>
      <url>https://www.apache.org/licenses/LICENSE-2.0.txt</url>
    </license>
  </licenses>
</project>
"""
#: The oldest time that a zip file can have.
TIME = (1980, 1, 1, 0, 0, 0)


def main(directories: list[Path], *, is_for_all: bool) -> None:
    """Write the jar."""
    if not is_for_all:
        written(TARGET, jar_files(directories))
        return
    version = crate_version()
    folder = MAVEN / GROUP.replace(".", "/") / NAME / version
    folder.mkdir(parents=True, exist_ok=True)
    written(ALL, jar_files(directories))
    for name, data in ((f"{NAME}-{version}.jar", ALL.read_bytes()), (f"{NAME}-{version}.pom", POM.format(version=version).encode())):
        (folder / name).write_bytes(data)
        (folder / f"{name}.sha1").write_text(hashlib.sha1(data, usedforsecurity=False).hexdigest(), encoding="ascii")
    print(f"{ALL}\nspark-shell --repositories {MAVEN.as_uri()} --packages {GROUP}:{NAME}:{version}")


def jar_files(directories: Iterable[Path]) -> dict[str, bytes]:
    """Return the content of the jar by name: classes, libraries, licences and the version."""
    with tempfile.TemporaryDirectory() as classes:
        compile_to(Path(classes))
        files = {str(path.relative_to(classes)): path.read_bytes() for path in Path(classes).rglob("*.class")}
    files |= {str(path.relative_to(JAVA)): path.read_bytes() for path in (JAVA / "META-INF").rglob("*") if path.is_file()}
    files[f"{PACKAGE}/version.txt"] = crate_version().encode()
    for directory in directories:
        library = next(path for name in LIBRARIES.values() if (path := directory / name).exists())
        data = library.read_bytes()
        files[f"{PACKAGE}/native/{platform_of(data)}/{library.name}"] = data
    return files | {f"META-INF/{name}": (ROOT / name).read_bytes() for name in ("LICENSE", "LICENSE-binary", "NOTICE")}


def platform_of(library: bytes) -> str:
    """Return the names of the system and the processor of a library as a JVM has them: those of this machine unless it is of Linux."""
    if library[:4] == b"\x7fELF":
        return f"linux-{ELF_PROCESSORS[int.from_bytes(library[18:20], 'little')]}"
    return f"{SYSTEMS[platform.system()]}-{PROCESSORS[platform.machine()]}"


def crate_version() -> str:
    """Return the version of the crate, which is that of the jar."""
    version = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert version is not None
    return version[1]


def written(target: Path, files: Mapping[str, bytes]) -> None:
    """Write a jar, at once."""
    target.parent.mkdir(parents=True, exist_ok=True)
    staged = target.with_suffix(".tmp")
    with zipfile.ZipFile(staged, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as jar:
        for name, data in [("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0\r\n\r\n"), *sorted(files.items())]:
            jar.writestr(zipfile.ZipInfo(name, TIME), data, zipfile.ZIP_DEFLATED, 9)
    staged.replace(target)


def compile_to(classes: Path) -> None:
    """Compile the Java sources; a warning is an error.

    Those of jvm/spark4 need a newer Spark than the others, which `SPARK_API` may compile against the jars of the oldest one.
    """
    spark = find_spec("pyspark")
    assert spark is not None, "PySpark is not installed"
    assert spark.origin is not None
    newest = Path(spark.origin).parent / "jars"
    oldest = Path(os.environ.get("SPARK_API") or newest)
    # Annotations of libraries that are not there, and paths in the manifests of jars, are no matter of these sources.
    lint = "-Xlint:all,-processing,-classfile,-path"
    options = ["javac", "--release", "17", lint, "-Werror", "-proc:none", "-d", str(classes)]
    for sources, path in (((JAVA / PACKAGE), f"{oldest}/*"), (JAVA / "spark4", f"{classes}:{newest}/*")):
        subprocess.run([*options, "-cp", path, *sorted(map(str, sources.glob("*.java")))], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true", dest="is_for_all")
    parser.add_argument("directories", nargs="+", type=Path)
    arguments = parser.parse_args()
    main(arguments.directories, is_for_all=arguments.is_for_all)
