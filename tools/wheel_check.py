"""Check built wheels: size, contents and that each works once installed.

    python tools/wheel_check.py [--attempts] [--jar] WHEEL...
    python tools/wheel_check.py --run "qemu-aarch64 -L ROOT ROOT/usr/bin/python3.13" WHEEL...

The wheels must be for the Python that runs this: one that cannot be installed fails the check. With --run they are for the interpreter
that COMMAND starts (of another machine, or of another C library): the wheel is unpacked for it instead of installed.

With --attempts each wheel is also installed with its dependencies, which pip downloads, into an environment for each extra that
docs/tutorial/first-attempts.md names, and the tasks of that page run there. This needs bash, and Java for Spark.

With --jar the wheel must hold the columnar reader for Spark: a jar with its classes, its version and the library for one platform.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Starts the tasks of docs/tutorial/first-attempts.md, with the standard library alone.
ATTEMPTS = ROOT / "tests/support/first_attempts.py"
SEGMENT = ROOT / "tests/corpus/modern-4.1.0/data/codec-zstd-0/00000000000000000000.log"

# The budget of the whole file: Spark users ship the wheel to every executor.
MAX_WHEEL_BYTES = 24 * 1024 * 1024

# Crates that LICENSE-binary names for all wheels and that only those of one system hold, by the name of the system in the platform tag.
_APPLE = ("core-foundation", "core-foundation-sys", "objc2-core-foundation", "objc2-system-configuration", "security-framework")
_WINDOWS = ("winapi-util", "windows-link", "windows-sys", "windows-targets")
SYSTEM_CRATES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((*_APPLE, "security-framework-sys"), ("macosx",)),
    **dict.fromkeys(_WINDOWS, ("win",)),
    "windows_x86_64_msvc": ("win_amd64",),
    "windows_aarch64_msvc": ("win_arm64",),
    **dict.fromkeys(("iana-time-zone", "nix"), ("macosx", "manylinux", "musllinux", "linux")),
    **dict.fromkeys(("openssl-probe", "rustls-native-certs"), ("manylinux", "musllinux", "linux")),
}

NEEDED = (
    "logsegment/__init__.py",
    "logsegment/_core.pyi",
    "logsegment/_sample/damaged-0/00000000000000000000.log",
    "logsegment/_sample/orders-0/00000000000000000000.log",
    "logsegment/py.typed",
    "pyspark_logsegment/__init__.py",
)

JAR = "logsegment/spark/jvm/logsegment-spark.jar"
JAR_PACKAGE = "io/github/logsegment/spark"
JAR_NEEDED = (
    "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister",
    f"{JAR_PACKAGE}/LogSegmentProvider.class",
    f"{JAR_PACKAGE}/version.txt",
)


def main() -> int:
    """Check every wheel named on the command line; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", metavar="COMMAND", type=shlex.split, help="the command that starts the interpreter the wheels are for")
    parser.add_argument("--attempts", action="store_true", help="run docs/tutorial/first-attempts.md in environments of its extras")
    parser.add_argument("--jar", action="store_true", help="require the columnar reader for Spark")
    parser.add_argument("wheels", metavar="WHEEL", type=Path, nargs="+")
    arguments = parser.parse_args()
    complaints = [f"{wheel.name}: {text}" for wheel in arguments.wheels for text in check(wheel, arguments.run)]
    if arguments.attempts and not complaints:
        complaints = [f"{wheel.name}: {text}" for wheel in arguments.wheels for text in attempt_complaints(wheel)]
    if arguments.jar:
        complaints += [f"{wheel.name}: {text}" for wheel in arguments.wheels for text in jar_complaints(wheel)]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


def check(wheel: Path, interpreter: list[str] | None) -> list[str]:
    """Return what is wrong with a wheel; print what was found to be right."""
    complaints = size_complaints(wheel) + content_complaints(wheel) + sbom_complaints(wheel)
    if complaints:
        return complaints
    with tempfile.TemporaryDirectory() as folder:
        return unpacked_complaints(wheel, folder, interpreter) if interpreter else installed_complaints(wheel, folder)


def size_complaints(wheel: Path) -> list[str]:
    """Compare the file's size with the budget."""
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size:,} of at most {MAX_WHEEL_BYTES:,} bytes")
    return [f"{size:,} bytes, at most {MAX_WHEEL_BYTES:,} allowed"] if size > MAX_WHEEL_BYTES else []


def content_complaints(wheel: Path) -> list[str]:
    """Look for what must be inside and for what must not."""
    names = set(zipfile.ZipFile(wheel).namelist())
    complaints = [f"lacks {name}" for name in NEEDED if name not in names]
    complaints += [f"lacks {name}" for name in (*licence_names(wheel), manual_page(wheel)) if name not in names]
    extensions = [name for name in names if name.endswith((".so", ".pyd"))]
    if len(extensions) != 1 or not extensions[0].startswith("logsegment/_core."):
        complaints.append(f"should hold one extension module, logsegment/_core, and holds {sorted(extensions)}")
    tops = {name.split("/")[0] for name in names}
    strays = {top for top in tops if top not in ("logsegment", "pyspark_logsegment") and not top.startswith("logsegment-")}
    complaints += [f"should not hold {name}" for name in sorted(strays)]
    complaints += [f"should not hold {name}" for name in sorted(names) if "__pycache__" in name]
    return complaints


def jar_complaints(wheel: Path) -> list[str]:
    """Look for the columnar reader for Spark: its classes, the version of the wheel, and one library."""
    with zipfile.ZipFile(wheel) as archive:
        if JAR not in archive.namelist():
            return [f"lacks {JAR}: was it built without a JDK?"]
        with zipfile.ZipFile(BytesIO(archive.read(JAR))) as jar:
            names = jar.namelist()
            complaints = [f"{JAR} lacks {name}" for name in JAR_NEEDED if name not in names]
            libraries = [name for name in names if name.startswith(f"{JAR_PACKAGE}/native/")]
            version = "" if complaints else jar.read(f"{JAR_PACKAGE}/version.txt").decode().strip()
            complaints += [text for name in libraries for text in c_library_complaints(wheel, name, jar.read(name))]
    if len(libraries) != 1:
        complaints.append(f"{JAR} should hold the library of one platform, and holds {sorted(libraries)}")
    if not complaints and version != wheel.name.split("-")[1]:
        complaints.append(f"{JAR} is of version {version}")
    print(f"{wheel.name}: {JAR} of version {version} with {', '.join(libraries)}")
    return complaints


def c_library_complaints(wheel: Path, name: str, library: bytes) -> list[str]:
    """Compare the glibc that the library in the jar needs with what the wheel's tag promises: installers look at the wheel alone."""
    needed = max((int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", library)), default=None)
    promised = re.search(r"manylinux_2_(\d+)", wheel.name)
    if needed is None or "linux" not in name:
        return []
    if promised is None:
        return [f"{JAR}: {name} needs glibc, the wheel does not"]
    return [f"{JAR}: {name} needs glibc 2.{needed}, the wheel 2.{promised[1]}"] if needed > int(promised[1]) else []


def manual_page(wheel: Path) -> str:
    """Return where the manual page must be in the wheel."""
    return "-".join(wheel.name.split("-")[:2]) + ".data/data/share/man/man1/logsegment.1"


def licence_names(wheel: Path) -> list[str]:
    """Return where the licence files of the source tree must stand in the wheel."""
    folder = "-".join(wheel.name.split("-")[:2]) + ".dist-info/licenses"
    bundled = [f"licenses/{path.name}" for path in sorted((ROOT / "licenses").iterdir())]
    return [f"{folder}/{name}" for name in ("LICENSE", "LICENSE-binary", "NOTICE", *bundled)]


def sbom_complaints(wheel: Path) -> list[str]:
    """Compare the bill of materials (PEP 770) with the crates that LICENSE-binary names."""
    archive = zipfile.ZipFile(wheel)
    names = [name for name in archive.namelist() if re.search(r"\.dist-info/sboms/[^/]+\.cyclonedx\.json$", name)]
    if len(names) != 1:
        return [f"should hold one bill of materials in .dist-info/sboms, and holds {names}"]
    materials = json.loads(archive.read(names[0]))
    listed = {f"{component['name']} {component['version']}" for component in materials.get("components", ())}
    missing = sorted(bundled_crates(wheel) - listed)
    print(f"{wheel.name}: {names[0]} lists {len(listed)} components")
    return [f"{names[0]} lacks {', '.join(missing)}"] if missing else []


def bundled_crates(wheel: Path) -> set[str]:
    """Return "name version" of every crate that LICENSE-binary lists and a wheel of this platform holds."""
    text = (ROOT / "LICENSE-binary").read_text(encoding="utf-8")
    crates = re.findall(r"^([\w-]+ \d+\.\d+\.\d+\S*): ", text, re.MULTILINE)
    platform = wheel.stem.split("-")[-1]
    return {crate for crate in crates if platform.startswith(SYSTEM_CRATES.get(crate.split()[0], ("",)))}


def installed_complaints(wheel: Path, folder: str) -> list[str]:
    """Install the wheel alone into a new environment; import it and run tools/smoke.py there, away from the source tree."""
    python, complaints = environment_with(str(wheel.resolve()), folder, "--no-index", "--no-deps")
    if complaints:
        return complaints
    print_import_time(python)
    return smoke_complaints([python, "-I"], folder)


def environment_with(requirement: str, folder: str, *options: str) -> tuple[str, list[str]]:
    """Make an environment in a folder and install into it. Return its Python, and why the installation failed."""
    venv.create(folder, with_pip=True)
    bin_folder = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")
    python = shutil.which("python", path=str(bin_folder))
    assert python, f"no python in {bin_folder}"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options, requirement]
    installed = subprocess.run(install, capture_output=True, text=True, check=False)
    return python, [f"{requirement} cannot be installed: {installed.stderr.strip()}"] if installed.returncode else []


def print_import_time(python: str) -> None:
    """Print how long `import logsegment` takes longer than a Python that does nothing, each the best of ten."""
    nothing, imported = (min(seconds_of([python, "-I", "-c", code]) for _ in range(10)) for code in ("pass", "import logsegment"))
    print(f"import logsegment: {(imported - nothing) * 1000:.0f} ms more than the {nothing * 1000:.0f} ms of `pass`; the aim is 60 ms")


def seconds_of(command: list[str]) -> float:
    """Return how long a command takes."""
    begin = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - begin


def attempt_complaints(wheel: Path) -> list[str]:
    """Install the wheel with each extra that the page names into an environment of its own, and run the tasks there."""
    sys.path.insert(0, str(ATTEMPTS.parent))
    from first_attempts import NO_EXTRA, attempts

    complaints = []
    for extra in dict.fromkeys(attempt.extra for attempt in attempts()):
        requirement = str(wheel.resolve()) + ("" if extra == NO_EXTRA else f"[{extra}]")
        with tempfile.TemporaryDirectory() as folder:
            python, failed = environment_with(requirement, folder)
            if not failed and extra == NO_EXTRA:
                failed = command_complaints(python) + foreign_complaints(python)
            if not failed and subprocess.run([python, str(ATTEMPTS), extra], cwd=folder, env=clean_environment(), check=False).returncode:
                failed = [f"a first attempt failed with {requirement}"]
            complaints += failed
    return complaints


def command_complaints(python: str) -> list[str]:
    """Run the command that the installation made over a segment."""
    done = subprocess.run([str(Path(python).parent / "logsegment"), "verify", str(SEGMENT)], capture_output=True, text=True, check=False)
    print(f"logsegment verify: {done.stdout.strip()}")
    return [] if (done.returncode, done.stderr) == (0, "") else [f"logsegment verify ended with {done.returncode}: {done.stderr}"]


def foreign_complaints(python: str) -> list[str]:
    """Look for modules of other packages that `import logsegment` loads, where click and rich are installed."""
    code = "import sys; old = {*sys.modules}; import logsegment; print(*{name.split('.')[0] for name in {*sys.modules} - old})"
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True)
    foreign = sorted({*done.stdout.split()} - {*sys.stdlib_module_names, "logsegment"})
    return [f"import logsegment loads {', '.join(foreign)}"] if foreign else []


def clean_environment() -> dict[str, str]:
    """Return the environment without what names another Python; as in a new shell, Spark's workers take the first one on the path."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK_", "VIRTUAL_ENV"))}


def unpacked_complaints(wheel: Path, folder: str, interpreter: list[str]) -> list[str]:
    """Unpack the wheel and run tools/smoke.py over it with an interpreter that has neither pip nor venv here."""
    zipfile.ZipFile(wheel).extractall(folder)
    return smoke_complaints(interpreter, folder)


def smoke_complaints(interpreter: list[str], folder: str) -> list[str]:
    """Run tools/smoke.py in a folder, which is also on the path of an interpreter that is not isolated."""
    environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
    smoke = subprocess.run([*interpreter, str(ROOT / "tools" / "smoke.py")], cwd=folder, env=environment, check=False)
    return [f"smoke test ended with {smoke.returncode}"] if smoke.returncode else []


if __name__ == "__main__":
    sys.exit(main())
