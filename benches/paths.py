"""Where the benches find their input and put what they make. Nothing outside target/ is written but the report."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "target" / "peers"
WORK = ROOT / "target" / "bench"
RESULTS = ROOT / "benches" / "results.json"
REPORT = ROOT / "docs" / "explanation" / "benchmarks.md"
SEGMENT_NAME = "00000000000000000000.log"


def corpus(name):
    """The segment of a corpus, for example `small-lz4`; raises FileNotFoundError that says how to make it."""
    path = PEERS / "corpus" / name / SEGMENT_NAME
    if not path.exists():
        raise FileNotFoundError(f"no corpus {name}: run benches/peers/run.sh --only none")
    return path


def manifest(name):
    """What the generator says of a corpus: records, batches, uncompressed_bytes, file_bytes, kind, codec."""
    return json.loads((corpus(name).parent / "manifest.json").read_text())


def manifests():
    """The manifests of all corpora by name, as far as they have been made."""
    return {path.parent.name: json.loads(path.read_text()) for path in PEERS.glob("corpus/*/manifest.json")}
