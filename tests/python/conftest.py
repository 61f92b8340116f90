"""What several test files need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import corpus


@pytest.fixture(scope="session")
def segment() -> Callable[[str], bytes]:
    """Bytes of a file of the corpus, by its name in the manifest."""
    return lambda name: (corpus.CORPUS / name).read_bytes()


@pytest.fixture(scope="session")
def codec_segments() -> dict[str, Path]:
    """One modern segment for each codec, with the same kinds of records in each."""
    return {
        codec: corpus.CORPUS / f"modern-4.1.0/data/codec-{codec}-0/00000000000000000000.log"
        for codec in ("none", "gzip", "snappy", "lz4", "zstd")
    }
