"""docs/explanation/benchmarks.md out of benches/results.json. `python -m benches.report` writes it again without measuring."""

import json

from benches.paths import REPORT, RESULTS
from benches.report import peers, plugins, reading, spark, writing
from benches.report.tables import markdown
from benches.thresholds import checks

INTRODUCTION = """# Benchmarks

<!-- Written by `make bench` from benches/results.json. Do not edit. -->

Every contestant decodes the same bytes, already in memory, to offset, timestamp, key and value of every record, CRCs
checked, everything decompressed. A checksum over all of it, made outside the clock, proves equal work. One thread unless
the row says otherwise. MB/s is uncompressed bytes a second, best of the repeats. For logsegment the columns are Arrow
columns in Python's hands, and the touch of each column by pyarrow is inside the clock.

The floor is what the bytes cost when nothing is wasted: CRC-32C, decompression, and one pass that copies into column
buffers that are reused. It panics on bad input and is no library. How the peers are driven:
[benches/peers](../benches/peers/README.md).
"""
SECTIONS = {
    "peers": peers.peers_section,
    "message_sets": peers.message_sets_section,
    "encode": writing.encode_section,
    "convert": writing.convert_section,
    "headers": reading.headers_section,
    "memory": reading.memory_section,
    "slice": reading.slice_section,
    "verify": reading.verify_section,
    "spark": spark.spark_section,
    "header_view": spark.header_view_section,
    "spark_kafka": spark.spark_kafka_section,
    "spark_kafka_unchecked": spark.spark_kafka_unchecked_section,
    "plugins": plugins.plugins_section,
    "plugins_before": plugins.plugins_before_section,
    "python": reading.python_section,
}


def main():
    write(json.loads(RESULTS.read_text()))


def write(results):
    """Write the report of `results` to docs/explanation/benchmarks.md."""
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    sections = [INTRODUCTION, machine_section(results["machine"])]
    sections += [make(results[name]) for name, make in SECTIONS.items() if name in results]
    sections.append(threshold_section(results))
    REPORT.write_text("\n".join(sections))


def machine_section(machine):
    lines = ["## Machine", "", *markdown(["what", "value"], [[key, str(value)] for key, value in machine.items()])]
    return "\n".join([*lines, ""])


def threshold_section(results):
    rows = []
    for check in checks(results):
        value = "not measured" if check.value is None else f"{check.value:.2f}"
        limit = f"{'at most' if check.at_most else 'at least'} {check.limit:g}"
        rows.append([check.rule, check.subject, value, limit, "held" if check.ok else "**missed**"])
    lines = ["## Thresholds", "", "As `make bench-check` compares them.", ""]
    return "\n".join([*lines, *markdown(["rule", "case", "value", "limit", ""], rows), ""])
