"""Make or check the licences that travel with the binary wheels: LICENSE-binary and the folder licenses/.

    python tools/licenses.py make     write them
    python tools/licenses.py check    exit 1 and name each difference if they are not what `make` would write

What is bundled is asked of Cargo: the normal dependencies of the feature `python` on every platform that gets a
wheel, without build scripts and procedural macros, which leave no code behind. The texts are copied from the crates'
own sources. A crate that bundles foreign C code must stand in BUNDLED_C, or the tool refuses to guess.
"""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ROOT / "tools" / "license_texts"

WHEEL_TARGETS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "aarch64-pc-windows-msvc",
)

# Crate -> (component, licence taken, licence file below the crate), or None where a `links` key bundles nothing.
BUNDLED_C: dict[str, tuple[str, str, str] | None] = {
    "libdeflate-sys": ("libdeflate", "MIT", "libdeflate/COPYING"),
    # zstd is offered under BSD-3-Clause or GPL-2.0 (zstd/COPYING): the former is taken.
    "zstd-sys": ("zstd", "BSD-3-Clause", "zstd/LICENSE"),
    # Only liblz4/lib is compiled; the GPL of the programs beside it does not reach it.
    "lz4-sys": ("liblz4", "BSD-2-Clause", "liblz4/lib/LICENSE"),
    "pyo3": None,
    "pyo3-ffi": None,
    # Its LICENSE files are those of the C code, too.
    "ring": None,
}

LICENCE_FILE = re.compile(r"(licen[cs]e|copying|notice|unlicense)", re.IGNORECASE)

INTRODUCTION = """
================================================================================

The binary distributions (wheels) of logsegment hold, in the compiled module
logsegment._core, code of the components below. For each stand its licence and
the files with its licence texts and notices. "LICENSE" is the text above; the
others stand beside this file. Where a licence offers a choice ("OR"), Apache-2.0
is taken where it is among them, otherwise the first whose text is given.

This file is made by tools/licenses.py from the crates' own sources.

"""


@dataclass(frozen=True)
class Component:
    """One bundled crate or C library, with its licence files' texts by the name they get in licenses/."""

    name: str
    version: str
    licence: str
    texts: dict[str, str]
    inside: str | None = None


def main() -> int:
    """Run the verb on the command line; return the exit code."""
    if sys.argv[1:] not in (["make"], ["check"]):
        print(__doc__, file=sys.stderr)
        return 2
    wanted = render(components())
    if sys.argv[1] == "make":
        return write(wanted)
    return check(wanted)


def components() -> list[Component]:
    """Return everything that is compiled into a wheel, by name."""
    packages = {(package["name"], package["version"]): package for package in cargo_metadata()["packages"]}
    found = [rust_standard_library()]
    for key in sorted(bundled_crates()):
        found += crate_components(packages[key])
    return found


def cargo_metadata() -> dict:
    """Return Cargo's view of all packages; this also downloads their sources."""
    return json.loads(cargo("metadata", "--format-version", "1", "--features", "python"))


def bundled_crates() -> set[tuple[str, str]]:
    """Return (name, version) of each crate whose code ends in a wheel of any platform."""
    crates = set()
    for target in WHEEL_TARGETS:
        edges = ("--edges", "normal,no-proc-macro", "--prefix", "none", "--no-dedupe", "--format", "{p}")
        for line in cargo("tree", "--features", "python", "--target", target, *edges).splitlines():
            name, version = line.split()[:2]
            crates.add((name, version.removeprefix("v")))
    return {crate for crate in crates if crate[0] != "logsegment"}


def cargo(*arguments: str) -> str:
    """Return what a cargo command prints; its complaints go through to stderr."""
    return subprocess.run(["cargo", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def crate_components(package: dict) -> list[Component]:
    """Return the crate itself and, where it bundles foreign C code, that library."""
    name, version = package["name"], package["version"]
    folder = Path(package["manifest_path"]).parent
    ensure_foreign_code_is_known(package, folder)
    files = sorted(path for path in folder.iterdir() if path.is_file() and LICENCE_FILE.search(path.name))
    if not files and "Apache-2.0" in package["license"].split():
        return [Component(name, version, package["license"], {f"{name}-{version}-LICENSE": read(ROOT / "LICENSE")})]
    if not files:
        raise SystemExit(f"{name} {version} carries no licence text: add one to tools/license_texts and name it here")
    texts = {f"{name}-{version}-{path.name.removesuffix('.md')}": read(path) for path in files}
    found = [Component(name, version, package["license"].replace("/", " OR "), texts)]
    foreign = BUNDLED_C.get(name)
    if foreign:
        library, licence, path = foreign
        texts = {f"{library}-in-{name}-{version}-{Path(path).name}": read(folder / path)}
        found.append(Component(library, "", licence, texts, inside=name))
    return found


def ensure_foreign_code_is_known(package: dict, folder: Path) -> None:
    """Stop on a crate that links or vendors other code and was not looked at by a person."""
    nested = [path for path in folder.glob("*/*") if path.name.upper() in ("LICENSE", "COPYING")]
    if (package["links"] or nested) and package["name"] not in BUNDLED_C:
        seen = ", ".join(str(path.relative_to(folder)) for path in nested) or f'links = "{package["links"]}"'
        raise SystemExit(f"{package['name']} may bundle foreign code ({seen}): add it to BUNDLED_C in tools/licenses.py")


def rust_standard_library() -> Component:
    """Return the standard library, which is linked into every wheel and stands in no Cargo.lock."""
    names = ("rust-std-LICENSE-MIT", "rust-std-LICENSE-UNICODE")
    texts = {name: read(TEXTS / name) for name in names}
    return Component("the Rust standard library", "", "(MIT OR Apache-2.0) AND Unicode-3.0", texts)


def read(path: Path) -> str:
    """Return a text with plain line ends, without blanks before them, so that checkouts everywhere agree."""
    lines = [line.rstrip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def render(found: list[Component]) -> dict[str, str]:
    """Return path -> text of every file to be written; the plain Apache licence is not repeated for each crate."""
    apache = read(ROOT / "LICENSE")
    files, listing = {}, []
    for component in found:
        listing.append(heading(component))
        for name, text in component.texts.items():
            if is_plain_apache(text, apache):
                listing.append("    LICENSE")
            else:
                files[f"licenses/{name}"] = text
                listing.append(f"    licenses/{name}")
    files["LICENSE-binary"] = apache + INTRODUCTION + "\n".join(listing) + "\n"
    return files


def heading(component: Component) -> str:
    """Return a component's line in LICENSE-binary."""
    inside = f" (C code inside {component.inside})" if component.inside else ""
    name = f"{component.name} {component.version}".strip()
    return f"{name}{inside}: {component.licence}"


def is_plain_apache(text: str, apache: str) -> bool:
    """Tell whether a text is the Apache licence with at most its standard appendix and a copyright line."""
    terms, appendix = split_apache(text)
    our_terms, our_appendix = split_apache(apache)
    # Room for a year and an owner; anything longer is a notice that must be kept.
    return terms == our_terms and len(appendix) <= len(our_appendix) + 200


def split_apache(text: str) -> tuple[str, str]:
    """Return the terms and what follows them, with all blanks made one."""
    flat = " ".join(text.split())
    terms, end, rest = flat.partition("END OF TERMS AND CONDITIONS")
    return terms, rest.strip() if end else ""


def write(wanted: dict[str, str]) -> int:
    """Write the files and remove those of crates that have gone."""
    for path in set(present()) - set(wanted):
        (ROOT / path).unlink()
    for path, text in wanted.items():
        (ROOT / path).parent.mkdir(exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8", newline="\n")
    print(f"LICENSE-binary and {len(wanted) - 1} files in licenses/ written")
    return 0


def check(wanted: dict[str, str]) -> int:
    """Compare with what is checked in; name each difference."""
    here = present()
    complaints = [f"missing: {path}" for path in sorted(set(wanted) - set(here))]
    complaints += [f"no longer bundled: {path}" for path in sorted(set(here) - set(wanted))]
    complaints += [f"differs: {path}" for path in sorted(set(here) & set(wanted)) if here[path] != wanted[path]]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if complaints:
        print("the licences are not up to date: run `make licenses`", file=sys.stderr)
        return 1
    print(f"licences: {len(wanted) - 1} texts up to date")
    return 0


def present() -> dict[str, str]:
    """Return path -> text of the files that are checked in."""
    paths = [ROOT / "LICENSE-binary", *sorted((ROOT / "licenses").glob("*"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths if path.is_file()}


if __name__ == "__main__":
    sys.exit(main())
