"""generate.py CORPUS PATH SIZE: writes the segment that is streamed and prints its number of records.

A process of its own: it holds the corpus twice, and whoever measures memory must stay small.
"""

import sys
from pathlib import Path

from benches.segments import write_repeated

if __name__ == "__main__":
    print(write_repeated(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
