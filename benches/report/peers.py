"""Decoding beside the peers."""

from benches.report.tables import markdown
from benches.thresholds import CODECS, MESSAGE_SET_CASES

#: What the contestant does that is the reference of the ratios.
REFERENCE = "checksum + decompress + copy"
REFERENCE_NAMES = {
    "baseline": f"{REFERENCE}, buffers reused",
    "baseline-fresh": f"{REFERENCE}, fresh chunks",
    "baseline-hold": f"{REFERENCE}, whole table kept",
    "baseline-hold-thp": f"{REFERENCE}, whole table kept, huge pages",
    "baseline-mt2": f"{REFERENCE}, 2 threads",
}
SHAPES = {
    "small": "16 KiB producer batches, JSON values of about 120 bytes, 16-byte keys",
    "headers": "Records with 3 headers, 16 KiB batches, headers column built",
    "smallbig": "The small records in 1 MiB batches",
    "large": "4 KiB values, 1 MiB batches",
}


def peers_section(peers):
    lines = ["## Decoding, compared with the peers", ""]
    for shape, title in SHAPES.items():
        cases = [f"{shape}-{codec}" for codec in CODECS if f"{shape}-{codec}" in peers["cells"]]
        if cases:
            lines += [f"### {title}", "", f"Times the time of {REFERENCE}:", "", *matrix(peers, cases, times_reference), ""]
            lines += ["MB/s:", "", *matrix(peers, cases, speed), ""]
    lines += ["### Two threads", "", "Times the speed of one thread:", "", *threads_table(peers["cells"]), ""]
    return "\n".join(lines)


def message_sets_section(peers):
    cases = [case for case in MESSAGE_SET_CASES if case in peers["cells"]]
    lines = ["## Decoding magic 1, compared with the peers", "", "The small records in compressed wrapper messages of 16 KiB. MB/s:", ""]
    return "\n".join([*lines, *matrix(peers, cases, speed), ""])


def matrix(peers, cases, value):
    rows = []
    for identity, name in named(peers["names"]):
        row = [cell_text(peers["cells"][case], identity, value) for case in cases]
        if any(text != "-" for text in row):
            rows.append([name, *row])
    return markdown(["contestant", *cases], rows)


def named(names):
    """The contestants; the variants of the reference line by what they do, also in results that were recorded under another name."""
    return [(identity, REFERENCE_NAMES.get(identity, name)) for identity, name in names.items()]


def cell_text(cells, identity, value):
    cell = cells.get(identity)
    if cell is None:
        return "-"
    return "fails" if "error" in cell else value(cells, cell)


def speed(cells, cell):
    return f"{cell['mb_s']:.0f}"


def times_reference(cells, cell):
    baseline = cells.get("baseline", {}).get("min")
    return f"{cell['min'] / baseline:.2f}" if baseline else "-"


def threads_table(cells):
    rows = []
    for shape in SHAPES:
        found = [cells.get(f"{shape}-{codec}", {}) for codec in CODECS]
        row = [gain(found_cells) for found_cells in found]
        if any(text != "-" for text in row):
            rows.append([shape, *row])
    return markdown(["shape", *CODECS], rows)


def gain(cells):
    one, two = (cells.get(identity, {}).get("min") for identity in ("ours", "ours-threads2"))
    return f"{one / two:.2f}" if one and two else "-"
