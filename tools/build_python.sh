#!/bin/sh
# Compile a CPython from Debian's sources into a new directory, without documentation and tests: one without the GIL, or for musl.
#
#   tools/build_python.sh DIRECTORY SUITE SOURCE [OPTION OF CONFIGURE]...
#   tools/build_python.sh target/python3.14t sid python3.14 --disable-gil
#   CC=$PWD/tools/musl_cc.sh tools/build_python.sh target/python-musl bookworm python3.11 --host=x86_64-linux-musl --build=x86_64-linux-musl
#
# DIRECTORY/python is the interpreter. The archive is the one that this machine has in its sources. Needs apt-get, dpkg-source, make and a C compiler.
set -eu

[ $# -ge 3 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
directory=$1 suite=$2 source=$3
shift 3
[ ! -e "$directory" ] || { echo "$0: $directory exists already" >&2; exit 2; }

archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sed -n '\#/debian/$#{p;q}')
[ -n "$archive" ] || { echo "$0: no archive of Debian in the sources of apt" >&2; exit 1; }
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $suite main" >"$apt/sources.list"

run_apt() {
    # The lists of this machine stay as they are: apt gets an empty state of its own.
    apt-get -qq -o APT::Sandbox::User=root -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$apt/lists" -o Dir::State::Status="$apt/status" -o Dir::Cache="$apt/cache" "$@"
}

run_apt update
(cd "$apt" && run_apt --download-only source "$source" >/dev/null && dpkg-source --extract --no-check ./*.dsc unpacked >/dev/null)
mkdir -p "$(dirname "$directory")"
mv "$apt/unpacked" "$directory"
cd "$directory"
./configure --quiet --without-ensurepip --disable-test-modules "$@" >configure.log 2>&1 || { tail -20 configure.log >&2; exit 1; }
make --silent -j"$(nproc)" >make.log 2>&1 || { tail -20 make.log >&2; exit 1; }
echo "$directory/python: $(./python -VV)"
