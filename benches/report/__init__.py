"""docs/explanation/benchmarks.md out of benches/results.json. `python -m benches.report` writes it again without measuring."""

import json

from benches.paths import REPORT, RESULTS
from benches.report import peers, plugins, reading, spark, spark_kafka, writing
from benches.report.tables import markdown
from benches.thresholds import checks

INTRODUCTION = """# Benchmarks

<!-- Written by `make bench` from benches/results.json. Do not edit. -->

Every contestant decodes the same bytes, already in memory, to offset, timestamp, key and value of every record, CRCs
checked, everything decompressed. A checksum over all of it, made outside the clock, proves equal work. One thread unless
the row says otherwise. MB/s is uncompressed bytes a second, best of the repeats. For logsegment the columns are Arrow
columns in Python's hands, and the touch of each column by pyarrow is inside the clock. logsegment runs with the default
options of `decode`.

The line "checksum + decompress + copy" is the reference of the ratios: CRC-32C, decompression, and one pass that copies keys
and values into column buffers that are reused, written in Rust for these files. It panics on bad input, and is not a library.
How the peers are driven: [benches/peers](../../benches/peers/README.md).

Compare ratios, which hold from machine to machine; MB/s are those of the processor that each section names.
"""
SECTIONS = {
    "peers": peers.peers_section,
    "message_sets": peers.message_sets_section,
    "encode": writing.encode_section,
    "convert": writing.convert_section,
    "rewrite": writing.rewrite_section,
    "headers": reading.headers_section,
    "memory": reading.memory_section,
    "slice": reading.slice_section,
    "verify": reading.verify_section,
    "avro_values": reading.avro_values_section,
    "spark": spark.spark_section,
    "spark_readers": spark.spark_readers_section,
    "header_view": spark.header_view_section,
    "spark_kafka": spark_kafka.spark_kafka_section,
    "spark_kafka_unchecked": spark_kafka.spark_kafka_unchecked_section,
    "spark_values": spark_kafka.spark_values_section,
    "decode_values": spark.decode_values_section,
    "plugins": plugins.plugins_section,
    "paced_plugins": plugins.paced_plugins_section,
    "python": reading.python_section,
}


def main():
    write(json.loads(RESULTS.read_text()))


def write(results):
    """Write the report of `results` to docs/explanation/benchmarks.md."""
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    sections = [INTRODUCTION, machine_section(results["machine"])]
    measured = results.get("measured", {})
    sections += [with_runs(make(results[name]), measured.get(name, [])) for name, make in SECTIONS.items() if name in results]
    sections.append(threshold_section(results))
    REPORT.write_text("\n".join(sections))


def with_runs(section, runs):
    """A section, its title followed by when and where its figures were measured."""
    title, _, rest = section.partition("\n")
    return "\n".join([title, "", *(sentence(run) for run in runs), rest]) if runs else section


def sentence(run):
    cases = f", for {', '.join(f'`{case}`' for case in run['only'])}" if "only" in run else ""
    note = f" ({run['note']})" if "note" in run else ""
    return f"Measured on {run['date']}, {run['processor']}, {run['cores']} cores{cases}{note}."


def machine_section(machine):
    lines = ["## The newest machine", "", *markdown(["what", "value"], [[key, str(value)] for key, value in machine.items()])]
    return "\n".join([*lines, ""])


def threshold_section(results):
    rows = []
    for check in checks(results):
        value = "not measured" if check.value is None else f"{check.value:.2f}"
        limit = f"{'at most' if check.at_most else 'at least'} {check.limit:g}"
        rows.append([check.rule, check.subject, value, limit, "held" if check.ok else "**missed**"])
    lines = ["## Thresholds", "", "As `make bench-check` compares them.", ""]
    return "\n".join([*lines, *markdown(["rule", "case", "value", "limit", ""], rows), ""])
