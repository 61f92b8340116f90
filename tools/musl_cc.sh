#!/bin/sh
# The C compiler for musl. CPython's configure asks for the name of the platform, and gcc would answer with that of glibc.
case "$*" in *-print-multiarch*) echo x86_64-linux-musl; exit ;; esac
exec musl-gcc "$@" -static-libgcc
