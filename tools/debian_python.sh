#!/bin/sh
# Unpack the CPython of Debian for another machine, or a newer one for this machine, into a new directory. Root and chroot are not needed.
#
#   tools/debian_python.sh DIRECTORY ARCHITECTURE SUITE PACKAGE...
#   tools/debian_python.sh target/arm64 arm64 sid python3.14 libpython3.14-stdlib
#
# The archive is the one that this machine has in its sources. Needs apt-get, dpkg and the keys of Debian.
set -eu

[ $# -ge 4 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
directory=$1 architecture=$2 suite=$3
shift 3
[ ! -e "$directory" ] || { echo "$0: $directory exists already" >&2; exit 2; }

archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sed -n '\#/debian/$#{p;q}')
[ -n "$archive" ] || { echo "$0: no archive of Debian in the sources of apt" >&2; exit 1; }
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $suite main" >"$apt/sources.list"

run_apt() {
    # The lists of this machine stay as they are: apt gets an empty state of its own.
    apt-get -qq -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" -o APT::Install-Recommends=false \
        -o APT::Sandbox::User=root -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$apt/lists" -o Dir::State::Status="$apt/status" -o Dir::Cache="$apt/cache" \
        -o Acquire::Languages=none "$@"
}

run_apt update
run_apt --download-only --yes install "$@" >/dev/null
mkdir -p "$directory"
# The C library is looked for in /lib, which Debian has as a link to /usr/lib.
mkdir -p "$directory/usr/lib"
ln -s usr/lib "$directory/lib"
for package in "$apt"/cache/archives/*.deb; do
    dpkg-deb --extract "$package" "$apt/unpacked"
    cp -a "$apt/unpacked/." "$directory/" 2>/dev/null || true
    rm -rf "$apt/unpacked"
done
echo "$directory: $(ls "$directory/usr/bin" | grep -E '^python3\.[0-9]+t?$' | tr '\n' ' ')"
