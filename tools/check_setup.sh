#!/bin/sh
# Says, in one go, which of the tools that must be there before `make setup` are missing or too old.
# Plain sh, so that it also runs where Python is what is missing. Exit 1 if anything is.
here=$(dirname "$0")
missing=0

lack() {
  echo "missing: $1" >&2
  echo "         $2" >&2
  missing=1
}

# at_least HAVE MAJOR MINOR
at_least() {
  major=${1%%.*}
  rest=${1#*.}
  minor=${rest%%.*}
  [ "$major" -gt "$2" ] || { [ "$major" -eq "$2" ] && [ "$minor" -ge "$3" ]; }
}

# Asked in the project's folder, where rust-toolchain.toml chooses the compiler.
if ! command -v cargo >/dev/null 2>&1; then
  lack "Rust 1.89 or newer (no cargo on PATH)" "install it with rustup, then open a new shell"
elif ! rust=$(rustc --version 2>&1); then
  lack "a working Rust toolchain: $rust" "rustup toolchain install stable --component clippy,rustfmt"
else
  number=$(echo "$rust" | cut -d' ' -f2)
  at_least "$number" 1 89 || lack "Rust 1.89 or newer (found $number)" "rustup update stable"
fi

command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 || command -v clang >/dev/null 2>&1 ||
  lack "a C compiler (zstd and libdeflate are C)" "Debian: apt-get install build-essential; macOS: xcode-select --install"

python=$(sh "$here/find_python.sh") ||
  lack "Python 3.11 or newer with venv" "Debian: apt-get install python3 python3-venv; or name one: make setup PYTHON=/path/to/python3.12"

java=java
[ -n "${JAVA_HOME:-}" ] && java=$JAVA_HOME/bin/java
if ! version=$("$java" -version 2>&1); then
  lack "Java 17 or newer for PySpark (no $java)" "Debian: apt-get install openjdk-17-jre-headless"
else
  number=$(echo "$version" | sed -n 's/.*version "\([0-9._]*\).*/\1/p' | head -n 1)
  at_least "${number:-0}.0" 17 0 || lack "Java 17 or newer for PySpark (found ${number:-an unknown version})" \
    "Debian: apt-get install openjdk-17-jre-headless; or set JAVA_HOME"
fi

[ "$missing" -eq 0 ] || exit 1
echo "found: rust ${rust#rustc } | $("$python" --version) | java $number"
