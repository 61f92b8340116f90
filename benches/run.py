"""`make bench`: runs the benches, merges what they found into benches/results.json, writes docs/explanation/benchmarks.md.

python -m benches.run                       everything, quiet machine wanted, more than two hours
python -m benches.run --sections headers,memory
python -m benches.run --sections peers --only 'large-*'
python -m benches.run --sections encode --only '* lz4*,* snappy'
python -m benches.run --quick               fewer repeats, the small corpora only: for looking, not for recording
"""

import argparse
import json
import re
import subprocess
import sys
from datetime import date

from benches import machine, report
from benches.paths import PEERS, RESULTS, ROOT, WORK, manifests

MAIN_CASES = "small-*,headers-*,smallbig-*,large-*"
MESSAGE_SET_CASES = "v1-*"


def main():
    args = parse_arguments()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for section in args.sections.split(","):
        ensure_same_processor(results, section, args)
        before, now = results.get(section), SECTIONS[section](args)
        results[section] = renewed(before, now, args)
        results["machine"] = machine.describe()
        note_run(results, section, args)
        if not args.quick:
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    if args.quick:
        print(json.dumps(results, indent=1))
        return
    report.write(results)
    print(f"wrote {RESULTS.relative_to(ROOT)} and {report.REPORT.relative_to(ROOT)}; compare: make bench-check")


def renewed(before, now, args):
    """What a section holds after a run: all of it, or with `--only` the cases of those alone."""
    held = next((key for key in ("cells", "cases") if key in now), None)
    return {**now, held: {**before[held], **now[held]}} if args.only and before and held else now


def ensure_same_processor(results, section, args):
    """Refuse to put some cases of a section next to those of another processor: a ratio of two machines says nothing."""
    others = {run["processor"] for run in results.get("measured", {}).get(section, [])} - {machine.processor()}
    if args.only and others and not args.quick:
        sys.exit(f"section {section} was measured on {', '.join(others)}; measure all of it here (no --only)")


def note_run(results, section, args):
    """Note when, where and with `--only` for which cases a section was measured."""
    run = {"date": date.today().isoformat(), "processor": results["machine"]["processor"], "cores": results["machine"]["cores"]}
    measured = results.setdefault("measured", {})
    measured[section] = [*measured.get(section, []), {**run, "only": args.only.split(",")}] if args.only else [run]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sections", default=",".join(SECTIONS), help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--only", help="globs of corpora or cases of peers and encode, by commas: the others keep their figures")
    parser.add_argument("--quick", action="store_true", help="fewer repeats and corpora; nothing is recorded")
    return parser.parse_args()


def run_peers(args):
    """All contestants over all corpora; returns {"corpora", "cells", "names"}."""
    return decoding(args.only or ("small-*" if args.quick else MAIN_CASES), args)


def run_message_sets(args):
    """As `run_peers`, over the corpora of magic 1."""
    return decoding(MESSAGE_SET_CASES, args)


def decoding(cases, args):
    repeat, rounds = ("3", "1") if args.quick else ("5", "5")
    call([ROOT / "benches" / "peers" / "run.sh", PEERS, "--fresh", "--corpus", cases, "--repeat", repeat, "--rounds", rounds])
    contestants = json.loads((PEERS / "contestants.json").read_text())
    return {
        "corpora": manifests(),
        "names": {contestant["id"]: contestant["name"] for contestant in contestants},
        "cells": rounded(json.loads((PEERS / "results.json").read_text())),
    }


def rounded(cells):
    """The cells without the single repeats: those stay in target/peers/results.json."""
    return {corpus: {identity: trimmed(cell) for identity, cell in found.items()} for corpus, found in cells.items()}


def trimmed(cell):
    numbers = {key: round(value, 6) for key, value in cell.items() if isinstance(value, float)}
    texts = {key: value for key, value in cell.items() if isinstance(value, (str, int))}
    repeats = {"repeats": len(cell["seconds"])} if "seconds" in cell else {}
    return {**texts, **numbers, **repeats}


def run_python(args):
    """pytest-benchmark over benches/python; returns [{"name", "min", "median", "records", "bytes"}]."""
    WORK.mkdir(parents=True, exist_ok=True)
    output = WORK / "python.json"
    chosen = ["-k", "small"] if args.quick else []
    call(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-o",
            "python_files=bench_*.py",
            "-o",
            "addopts=",
            "benches/python",
            "--benchmark-only",
            "--benchmark-columns=min,median,ops",
            f"--benchmark-json={output}",
            *chosen,
        ]
    )
    return [python_row(bench) for bench in json.loads(output.read_text())["benchmarks"]]


def python_row(bench):
    stats = bench["stats"]
    return {"name": bench["name"], "min": stats["min"], "median": stats["median"], **bench["extra_info"]}


def run_encode(args):
    call([ROOT / "benches" / "peers" / "run.sh", PEERS, "--only", "none"])
    chosen = ["--cases", args.only or ("small *" if args.quick else "*")]
    quick = ["--repeat", "2", "--rounds", "1"] if args.quick else []
    return call_json("benches.encode.measure", *chosen, *quick)


def run_convert(args):
    return call_json("benches.convert.measure")


def run_headers(args):
    return call_json("benches.headers.measure")


def run_memory(args):
    return call_json("benches.memory.measure")


def run_spark(args):
    quick = ["--corpora", "small-none", "--rounds", "2"] if args.quick else []
    return call_json("benches.spark.measure", *quick)


def run_spark_readers(args):
    quick = ["--corpora", "small-none", "--rounds", "2"] if args.quick else []
    return call_json("benches.spark.readers", *quick)


def run_header_view(args):
    quick = ["--gib", "2", "--rounds", "2"] if args.quick else []
    return call_json("benches.spark.header_view", *quick)


def run_spark_kafka(args):
    quick = ["--codecs", "none", "--rows", "300000", "--rounds", "2"] if args.quick else []
    return call_json("benches.spark_kafka.measure", *quick)


def run_spark_kafka_unchecked(args):
    """As `run_spark_kafka`, with what docs/how-to/run-on-a-cluster.md says of Arrow's checks in both JVMs."""
    quick = ["--codecs", "none", "--rows", "300000", "--rounds", "2"] if args.quick else []
    return call_json("benches.spark_kafka.measure", "--without-columnar", f"--java-options={arrow_unchecked()}", *quick)


def run_spark_values(args):
    quick = ["--rows", "100000", "--rounds", "1"] if args.quick else []
    return call_json("benches.spark_kafka.values", *quick)


def run_decode_values(args):
    quick = ["--rows", "100000", "--rounds", "2"] if args.quick else []
    return call_json("benches.spark.values", *quick)


def run_avro_values(args):
    quick = ["--rows", "50000", "--rounds", "3", "--fastavro-rounds", "1"] if args.quick else []
    return call_json("benches.values.measure", *quick)


def run_rewrite(args):
    quick = ["--codecs", "none", "--batches", "4000", "--rounds", "2", "--segment-batches", "2000"] if args.quick else []
    return call_json("benches.rewrite.measure", *quick)


def arrow_unchecked():
    """The options by which Arrow's Java library reads its buffers without a check of bounds and nulls at each value."""
    (found,) = re.findall(r"`(-Darrow[^`]*)`", (ROOT / "docs/how-to/run-on-a-cluster.md").read_text())
    return found


def run_slice(args):
    quick = ["--size", str(1 << 28), "--rounds", "2"] if args.quick else []
    return call_json("benches.slice.measure", *quick)


def run_verify(args):
    quick = ["--size", str(1 << 27), "--rounds", "2", "--no-peer"] if args.quick else []
    return call_json("benches.verify.measure", *quick)


def run_plugins(args):
    quick = ["--rounds", "10"] if args.quick else []
    return call_json("benches.plugins.measure", *quick)


def run_paced_plugins(args):
    quick = ["--records", "20000"] if args.quick else []
    return call_json("benches.plugins.paced", *quick)


def call_json(module, *arguments):
    """Run a bench module in its own process; returns the last line it prints, read as JSON."""
    done = call([sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def call(command, **options):
    return subprocess.run([str(word) for word in command], cwd=ROOT, check=True, **options)


SECTIONS = {
    "peers": run_peers,
    "message_sets": run_message_sets,
    "encode": run_encode,
    "convert": run_convert,
    "python": run_python,
    "headers": run_headers,
    "memory": run_memory,
    "slice": run_slice,
    "verify": run_verify,
    "spark": run_spark,
    "spark_readers": run_spark_readers,
    "header_view": run_header_view,
    "spark_kafka": run_spark_kafka,
    "spark_kafka_unchecked": run_spark_kafka_unchecked,
    "spark_values": run_spark_values,
    "decode_values": run_decode_values,
    "avro_values": run_avro_values,
    "rewrite": run_rewrite,
    "plugins": run_plugins,
    "paced_plugins": run_paced_plugins,
}

if __name__ == "__main__":
    main()
