#!/bin/sh
# Prints the first Python interpreter that is 3.11 or newer and can make a venv; exit 1 if there is none.
# A pyenv or Windows shim may exist without a Python behind it, so each candidate is run, not only looked up.
for python in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
  if "$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
    echo "$python"
    exit 0
  fi
done
exit 1
