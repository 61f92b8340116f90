"""Decoding beside the peers."""

from benches.report.tables import markdown
from benches.thresholds import CODECS, MESSAGE_SET_CASES

SHAPES = {
    "small": "16 KiB producer batches, JSON values of about 120 bytes, 16-byte keys",
    "headers": "Records with 3 headers, 16 KiB batches, headers column built",
    "smallbig": "The small records in 1 MiB batches",
    "large": "4 KiB values, 1 MiB batches",
}


def peers_section(peers):
    lines = ["## Decoding, beside the peers", ""]
    for shape, title in SHAPES.items():
        cases = [f"{shape}-{codec}" for codec in CODECS if f"{shape}-{codec}" in peers["cells"]]
        if cases:
            lines += [f"### {title}", "", "MB/s:", "", *matrix(peers, cases, speed), ""]
            lines += ["Times the floor's time:", "", *matrix(peers, cases, times_floor), ""]
    lines += ["### Two threads", "", "Times the speed of one thread:", "", *threads_table(peers["cells"]), ""]
    return "\n".join(lines)


def message_sets_section(peers):
    cases = [case for case in MESSAGE_SET_CASES if case in peers["cells"]]
    lines = ["## Decoding magic 1, beside the peers", "", "The small records in compressed wrapper messages of 16 KiB. MB/s:", ""]
    return "\n".join([*lines, *matrix(peers, cases, speed), ""])


def matrix(peers, cases, value):
    rows = []
    for identity, name in peers["names"].items():
        row = [cell_text(peers["cells"][case], identity, value) for case in cases]
        if any(text != "-" for text in row):
            rows.append([name, *row])
    return markdown(["contestant", *cases], rows)


def cell_text(cells, identity, value):
    cell = cells.get(identity)
    if cell is None:
        return "-"
    return "fails" if "error" in cell else value(cells, cell)


def speed(cells, cell):
    return f"{cell['mb_s']:.0f}"


def times_floor(cells, cell):
    floor = cells.get("floor", {}).get("min")
    return f"{cell['min'] / floor:.2f}" if floor else "-"


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
