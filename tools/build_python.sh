#!/bin/sh
# Compile a CPython into a new directory, without documentation and tests: one without the GIL, or one for musl.
#
#   tools/build_python.sh DIRECTORY SOURCES [OPTION OF CONFIGURE]...
#   tools/build_python.sh target/python3.14t Python-3.14.7 --disable-gil
#   CC=$PWD/tools/musl_cc.sh tools/build_python.sh target/python-musl bookworm/python3.11 --host=x86_64-linux-musl --build=x86_64-linux-musl
#
# SOURCES is a directory with unpacked sources, or a suite and a source package of the Debian archive that this machine has in its sources.
# DIRECTORY/python is the interpreter. A compiler in CC that is not the usual one gets its own zlib, without which zipfile is missing.
# Needs make and a C compiler, and for Debian's sources apt-get and dpkg-source.
set -eu

[ $# -ge 2 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
directory=$(realpath -m "$1") sources=$2
shift 2
[ ! -e "$directory" ] || { echo "$0: $directory exists already" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run_apt() {
    # The lists of this machine stay as they are: apt gets an empty state of its own.
    apt-get -qq -o APT::Sandbox::User=root -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$work/lists" -o Dir::State::Status="$work/status" -o Dir::Cache="$work/cache" "$@"
}

# The sources of package $2 of suite $1 as directory $3.
unpack() {
    archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sed -n '\#/debian/$#{p;q}')
    [ -n "$archive" ] || { echo "$0: no archive of Debian in the sources of apt" >&2; exit 1; }
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/$2"
    : >"$work/status"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $1 main" >"$work/sources.list"
    run_apt update
    (cd "$work/$2" && run_apt --download-only source "$2" >/dev/null && dpkg-source --extract --no-check ./*.dsc "$3" >/dev/null)
}

mkdir -p "$(dirname "$directory")"
if [ -d "$sources" ]; then
    cp -a "$sources" "$directory"
else
    unpack "${sources%%/*}" "${sources##*/}" "$directory"
    if [ -n "${CC:-}" ]; then
        unpack "${sources%%/*}" zlib "$work/zlib-sources"
        (cd "$work/zlib-sources" && CFLAGS="-O2 -fPIC" ./configure --static --prefix="$directory/zlib" >/dev/null && make --silent install >/dev/null)
        set -- "CPPFLAGS=-I$directory/zlib/include" "LDFLAGS=-L$directory/zlib/lib" "$@"
    fi
fi
cd "$directory"
./configure --quiet --without-ensurepip --disable-test-modules "$@" >configure.log 2>&1 || { tail -20 configure.log >&2; exit 1; }
make --silent -j"$(nproc)" >make.log 2>&1 || { tail -20 make.log >&2; exit 1; }
echo "$directory/python: $(./python -VV)"
