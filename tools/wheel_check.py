"""Check built wheels: size, contents and that each works once installed.

    python tools/wheel_check.py WHEEL...

The wheels must be for the Python that runs this: one that cannot be installed fails the check.
"""

import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# The budget of the whole file: Spark users ship the wheel to every executor.
MAX_WHEEL_BYTES = 6 * 1024 * 1024

NEEDED = (
    "logsegment/__init__.py",
    "logsegment/_core.pyi",
    "logsegment/py.typed",
    "pyspark_logsegment/__init__.py",
)


def main() -> int:
    """Check every wheel named on the command line; return the exit code."""
    wheels = [Path(name) for name in sys.argv[1:]]
    if not wheels:
        print(__doc__, file=sys.stderr)
        return 2
    complaints = [f"{wheel.name}: {text}" for wheel in wheels for text in check(wheel)]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


def check(wheel: Path) -> list[str]:
    """Return what is wrong with a wheel; print what was found to be right."""
    complaints = size_complaints(wheel) + content_complaints(wheel)
    if complaints:
        return complaints
    return smoke_complaints(wheel)


def size_complaints(wheel: Path) -> list[str]:
    """Compare the file's size with the budget."""
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size:,} of at most {MAX_WHEEL_BYTES:,} bytes")
    return [f"{size:,} bytes, at most {MAX_WHEEL_BYTES:,} allowed"] if size > MAX_WHEEL_BYTES else []


def content_complaints(wheel: Path) -> list[str]:
    """Look for what must be inside and for what must not."""
    names = set(zipfile.ZipFile(wheel).namelist())
    complaints = [f"lacks {name}" for name in NEEDED if name not in names]
    complaints += [f"lacks {name}" for name in licence_names(wheel) if name not in names]
    extensions = [name for name in names if name.endswith((".so", ".pyd"))]
    if len(extensions) != 1 or not extensions[0].startswith("logsegment/_core."):
        complaints.append(f"should hold one extension module, logsegment/_core, and holds {sorted(extensions)}")
    tops = {name.split("/")[0] for name in names}
    strays = {top for top in tops if top not in ("logsegment", "pyspark_logsegment") and not top.startswith("logsegment-")}
    complaints += [f"should not hold {name}" for name in sorted(strays)]
    complaints += [f"should not hold {name}" for name in sorted(names) if "__pycache__" in name]
    return complaints


def licence_names(wheel: Path) -> list[str]:
    """Return where the licence files of the source tree must stand in the wheel."""
    folder = "-".join(wheel.name.split("-")[:2]) + ".dist-info/licenses"
    bundled = [f"licenses/{path.name}" for path in sorted((ROOT / "licenses").iterdir())]
    return [f"{folder}/{name}" for name in ("LICENSE", "LICENSE-binary", "NOTICE", *bundled)]


def smoke_complaints(wheel: Path) -> list[str]:
    """Install the wheel alone into a new environment and run tools/smoke.py there, away from the source tree."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        bin_folder = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")
        python = shutil.which("python", path=str(bin_folder))
        assert python, f"no python in {bin_folder}"
        install = [python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel.resolve())]
        installed = subprocess.run(install, capture_output=True, text=True, check=False)
        if installed.returncode:
            return [f"cannot be installed: {installed.stderr.strip()}"]
        smoke = subprocess.run([python, "-I", str(ROOT / "tools" / "smoke.py")], cwd=folder, check=False)
        return [f"smoke test ended with {smoke.returncode}"] if smoke.returncode else []


if __name__ == "__main__":
    sys.exit(main())
