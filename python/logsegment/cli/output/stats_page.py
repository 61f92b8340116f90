"""`Stats` as one HTML page: tables and plots in SVG, light and dark, without a script or a request."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from logsegment._text import count as counted
from logsegment.analysis.stats import Stats
from logsegment.analysis.v3_savings import V3Savings
from logsegment.cli.output import stats_plots as plots
from logsegment.cli.output import stats_text as text
from logsegment.cli.output import v3_savings_text as what_if

STYLE = """
:root{color-scheme:light dark;--ink:#1a1c20;--dim:#5b6270;--back:#fff;--card:#f4f5f8;--line:#d5d8e0;--bar:#2f6fde;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e7e9ee;--dim:#a2a9b8;--back:#14161a;--card:#1e2127;--line:#363b45;--bar:#7aa7ff;--bad:#ff8a80}}
body{margin:0 auto;max-width:72rem;padding:1.5rem;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.4rem;overflow-wrap:anywhere}h2{font-size:1.05rem;margin:0 0 .5rem}
section{background:var(--card);border-radius:8px;padding:1rem;margin:1rem 0;overflow-x:auto}
table{border-collapse:collapse}th,td{padding:.15rem .9rem .15rem 0;text-align:right;border-bottom:1px solid var(--line)}
th:first-child,td:first-child{text-align:left}th,.dim{color:var(--dim);font-weight:normal}.bad{color:var(--bad)}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(26rem,1fr));gap:1rem}.grid section{margin:0}
svg{width:100%;height:auto;display:block}svg text{fill:var(--dim);font:11px system-ui,sans-serif}
svg .bar{fill:var(--bar)}svg .late{fill:var(--bad)}svg .axis{stroke:var(--line);stroke-width:1}
"""


def page(stats: Stats, title: str, saved: V3Savings | None = None) -> str:
    """The whole page; with what the proposed format v3 would save, where that was asked."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title><style>{STYLE}</style>'
    body = [f"<h1>{escape(title)}</h1>", _summary(stats), f'<div class="grid">{"".join(plots.of(stats))}</div>', _codecs(stats)]
    body += [_producers(stats), _gaps(stats), _damage(stats), _what_if(saved) if saved else ""]
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def _summary(stats: Stats) -> str:
    rows = [
        ("bytes", f"{text.size(stats.bytes)} in {counted(stats.files, 'file')}"),
        ("batches", text.number(stats.batches)),
        ("records", text.records_text(stats)),
        ("offsets", f"{text.number(stats.first_offset)} to {text.number(stats.last_offset)}; {text.offsets_text(stats)}"),
        ("times", f"{text.time(stats.first_time)} to {text.time(stats.last_time)} (UTC)"),
        ("order of times", text.order_text(stats)),
        ("batch size", text.histogram_text(stats.sizes, text.size)),
        ("records in a batch", text.histogram_text(stats.counts, text.number)),
        ("formats", text.formats(stats)),
        ("transactions", text.transactions_text(stats).removeprefix("transactions ")),
    ]
    cells = "".join(f'<tr><td class="dim">{escape(name)}</td><td style="text-align:left">{escape(told)}</td></tr>' for name, told in rows)
    return f"<section><table>{cells}</table></section>"


def _codecs(stats: Stats) -> str:
    ordered = sorted(stats.codecs.items(), key=lambda item: -item[1].bytes)
    rows = [
        (name, text.number(codec.batches), text.number(codec.records), text.size(codec.bytes), _ratio(codec.ratio))
        for name, codec in ordered
    ]
    note = '<p class="dim">ratio: unpacked bytes for each packed one, of a sample of the batches</p>'
    return _table("Codecs", ("codec", "batches", "records", "bytes", "ratio"), rows, note)


def _producers(stats: Stats) -> str:
    ordered = sorted(stats.producers.items(), key=lambda item: -item[1].batches)
    rows = [
        (
            str(producer_id),
            str(one.epoch),
            text.number(one.batches),
            text.number(one.records),
            text.number(one.transactional),
            "yes" if one.is_open else "",
        )
        for producer_id, one in ordered[: text.SHOWN]
    ]
    left = len(ordered) - text.SHOWN
    note = f'<p class="dim">and {text.number(left)} more</p>' if left > 0 else ""
    return _table("Producers", ("producer id", "epoch", "batches", "records", "transactional batches", "no marker at the end"), rows, note)


def _gaps(stats: Stats) -> str:
    rows = [
        (gap.log, text.number(gap.first), text.number(gap.last), text.number(gap.last - gap.first + 1)) for gap in stats.gaps[: text.SHOWN]
    ]
    left = stats.gap_count - text.SHOWN
    note = f'<p class="dim">and {text.number(left)} more</p>' if left > 0 else ""
    return _table("Offsets that no batch covers", ("before a batch of", "first", "last", "offsets"), rows, note)


def _damage(stats: Stats) -> str:
    rows = [(one["file"], one["severity"], one["rule"], text.number(one["position"]), one["message"]) for one in stats.damage]
    left = sum(stats.damage_counts.values()) - len(rows)
    note = f'<p class="dim">and {text.number(left)} more</p>' if left else ""
    return _table("Damage", ("file", "severity", "rule", "byte", "what"), rows, note)


def _what_if(saved: V3Savings) -> str:
    note = f'<p class="dim">{escape(what_if.summary(saved))}. {escape(what_if.NOTE)}</p>'
    return _table("What if v3", what_if.COLUMNS, list(what_if.rows(saved)) if saved.batches else [("no batches", "", "", "")], note)


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]], note: str) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<section><h2>{escape(title)}</h2><table><tr>{head}</tr>{body}</table>{note}</section>"


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"
