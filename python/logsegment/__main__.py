"""`python -m logsegment`: the command line."""

import sys

from logsegment.cli import main

if __name__ == "__main__":
    sys.exit(main())
