"""`python -m logsegment.sample DIR`: write a sample partition with a damaged batch, DIR/damaged-0.

Kafka 4.1 wrote its 240 records; one bit of one batch was changed. The documentation begins with it.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from logsegment._output import output_directory

#: The name of the partition's directory.
PARTITION = "damaged-0"
_FILES = Path(__file__).with_name("_sample") / PARTITION


def write(directory: str) -> Path:
    """Write the partition into a directory, and return its path.

    Args:
        directory: the directory, which is made if it is missing.

    Raises:
        FileExistsError: if the partition exists already.
        OSError: if it cannot be written.
    """
    path = Path(directory) / PARTITION
    with output_directory(path) as hidden:
        for file in sorted(_FILES.iterdir()):
            shutil.copyfile(file, hidden / file.name)
    return path


def main(arguments: list[str]) -> int:
    """Write the partition and print its path; return the exit code."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m logsegment.sample DIR", file=sys.stderr)
        return 2
    try:
        print(write(arguments[0]))
    except OSError as error:
        print(f"logsegment.sample: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
