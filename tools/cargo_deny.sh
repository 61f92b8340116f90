#!/usr/bin/env bash
# Runs cargo deny (over bans, licences and sources unless told other checks: those need no network); installs the
# tool into target/tools if it is not there.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.20.2
tools=$PWD/target/tools
export PATH=$tools/bin:$PATH

if [ "$(cargo deny --version 2>/dev/null)" != "cargo-deny $version" ]; then
  echo "installing cargo-deny $version into target/tools (a few minutes, once)"
  cargo install --quiet --locked cargo-deny --version "$version" --root "$tools" --target-dir "$tools/build"
  rm -rf "$tools/build"
fi
cargo deny ${CI:+--locked} check --hide-inclusion-graph ${*:-bans licenses sources}
