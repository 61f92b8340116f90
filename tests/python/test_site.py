"""The documentation site: built without a warning, complete, and shown by a browser at two widths in light and dark."""

from __future__ import annotations

import importlib
import os
import re
import sys
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import headless
import logsegment as ls
from doc_examples import ROOT
from made_once import made_once

sys.path.insert(0, str(ROOT / "tools"))
import build_site

HTML = build_site.HTML
MODULES = ("broker", "compat", "plugins", "polars", "schemas", "spark", "stores", "tiered")
#: What the start page must lead to within three clicks.
WANTED = ("reference/python/read.html#logsegment.decode", "reference/spark-options.html", "reference/exit-codes.html")

needs_browser = pytest.mark.skipif(
    headless.chromium() is None and not os.environ.get("REQUIRE_BROWSER"),
    reason="no Chromium on this machine; Debian has it as chromium-headless-shell",
)


@pytest.fixture(scope="module")
def site() -> Path:
    """The site, built once. No test of this module passes if the generator reports anything."""
    with made_once(ROOT / "target/site-tests"):
        build_site.stage()
        assert build_site.build() == []
    return HTML


class Page(HTMLParser):
    """The links, resources and text of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.resources: list[str] = []
        self._texts: list[str] = []
        self._is_hidden = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self._is_hidden = tag in ("script", "style")
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")
        elif tag in ("script", "img", "iframe", "source", "video", "audio") and found.get("src"):
            self.resources.append(found["src"] or "")
        elif tag == "link" and found.get("rel") not in ("canonical", "prev", "next"):
            self.resources.append(found.get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        self._is_hidden = False

    def handle_data(self, data: str) -> None:
        if not self._is_hidden:
            self._texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self._texts).split())


def inventory(site: Path) -> set[str]:
    """The names of the site's objects.inv, which other sites link to."""
    *_, packed = (site / "objects.inv").read_bytes().split(b"\n", 4)
    return {line.split()[0] for line in zlib.decompress(packed).decode().splitlines()}


def public_names() -> set[str]:
    names = {f"logsegment.{name}" for name in ls.__all__}
    return names | {f"logsegment.{item}.{name}" for item in MODULES for name in importlib.import_module(f"logsegment.{item}").__all__}


def test_every_public_name_is_in_the_reference(site: Path):
    names = public_names()
    assert len(names) > 90
    assert sorted(names - inventory(site)) == []


def test_no_name_is_in_the_reference_that_is_not_public(site: Path):
    documented = {f"logsegment.{name}" for page in (ROOT / "docs/reference/python").glob("*.md") for name in directives(page)}
    assert sorted(documented - public_names()) == []


def directives(page: Path) -> list[str]:
    return re.findall(r"^::: logsegment\.(\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_functions_with_keywords_show_every_option(site: Path):
    """`Log.records` takes most of its options as `**options`; the page lists them with their defaults and descriptions."""
    text = Page(site / "reference/python/logs.html").text
    end = text.index("-> RecordStream Decode the records of all segments")
    signature = text[text.rindex("records( *,", 0, end) : end]
    expected = {"start_timestamp", "isolation", "format", "limits", "columns", "binary", "check_crc", "on_error", "threads", "values"}
    assert expected <= set(re.findall(r"(\w+):", signature))
    assert "**" not in signature
    assert "batch_bytes: int = 1 << 20" in signature
    assert text.count("about how many bytes of keys, values and headers an Arrow batch contains") >= 2


def verbs() -> Iterator[tuple[list[str], set[str]]]:
    """Each verb, and verb of a verb, with the names of its options."""
    import click

    from logsegment.cli.app import VERBS, program

    context = click.Context(program)
    for verb in VERBS:
        command = program.get_command(context, verb)
        assert command is not None
        found = {verb: command}
        if isinstance(command, click.Group):
            found |= {f"{verb} {name}": command.get_command(context, name) for name in command.list_commands(context)}
        for name, item in found.items():
            yield name.split(), {option for param in item.get_params(context) for option in param.opts if option.startswith("--")}


def test_every_verb_has_a_page_with_all_of_its_options(site: Path):
    named = set()
    for names, options in verbs():
        text = Page(site / f"reference/cli/{names[0]}.html").text
        assert f"logsegment {' '.join(names)}" in text
        assert sorted(option for option in options if option not in text) == [], names
        named.add(f"{names[0]}.md")
    assert {page.name for page in (ROOT / "docs/reference/cli").glob("*.md")} == named | {"README.md"}


def test_every_page_is_in_the_navigation(site: Path):
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    named = re.findall(r"([\w./-]+\.md)$", nav, re.MULTILINE)
    staged = {str(page.relative_to(build_site.PAGES)) for page in build_site.PAGES.rglob("*.md")}
    # The index of decisions lists them.
    assert {page for page in staged if not re.match(r"project/decisions/\d", page)} == set(named)
    assert len(named) == len(set(named))


def test_the_site_serves_all_that_its_pages_load(site: Path):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 90
    for page in pages:
        for resource in Page(page).resources:
            assert not re.match(r"(https?:)?//", resource), f"{page}: {resource}"
    styles = "\n".join(style.read_text(encoding="utf-8") for style in site.rglob("*.css"))
    assert re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)]*", styles) == []


@pytest.mark.parametrize("wanted", WANTED)
def test_three_clicks_lead_from_the_start_page_to(site: Path, wanted: str):
    page, _, anchor = wanted.partition("#")
    assert not anchor or f'id="{anchor}"' in (site / page).read_text(encoding="utf-8")
    reached, latest = {"index.html"}, {"index.html"}
    for clicks in range(1, 4):
        latest = {target for name in latest for target in targets(site, name)} - reached
        reached |= latest
        if page in latest:
            assert clicks <= 3
            return
    pytest.fail(f"{page} is not within three clicks")


def targets(site: Path, name: str) -> set[str]:
    """The pages that the text of a page links to, without the menus."""
    text = (site / name).read_text(encoding="utf-8")
    (article,) = re.findall(r"<article.*?</article>", text, re.DOTALL)
    links = re.findall(r'<a [^>]*?href="?([^"\s>#]+)', article)
    found = {os.path.normpath(os.path.join(os.path.dirname(name), unquote(link))) for link in links if not re.match(r"[a-z]+:", link)}
    return {item for item in found if (site / item).is_file()}


#: Pages with long signatures, wide tables, code and headings.
SHOWN = (
    "index.html",
    "reference/python/read.html",
    "reference/spark-options.html",
    "how-to/read-with-spark.html",
)
#: A page reports what is wider than the window. Tables and code scroll in frames of their own.
MEASURE = """<script>
  addEventListener("load", () => {
    const wide = [...document.querySelectorAll("article *")].filter((one) => {
      const box = one.getBoundingClientRect();
      return box.width && box.right > innerWidth + 1 && !one.closest(".md-typeset__scrollwrap, pre, code");
    });
    const fits = document.documentElement.scrollWidth <= innerWidth;
    console.log(`measured ${innerWidth} ${fits} ${wide.map((one) => one.outerHTML.slice(0, 80))}`);
  });
</script>"""


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("page", SHOWN)
def test_a_browser_shows_pages_at_two_widths_in_light_and_dark(site: Path, tmp_path: Path, page: str):
    text = (site / page).read_text(encoding="utf-8")
    copy = (site / page).with_name(f"measured-{Path(page).name}")
    copy.write_text(text.replace("</body>", f"{MEASURE}</body>"), encoding="utf-8")
    try:
        for width in (1200, 400):
            corners = []
            for is_dark in (False, True):
                place = tmp_path / f"{width}-{is_dark}"
                place.mkdir()
                seen = headless.look_at(copy, place, is_dark=is_dark, size=(width, 900))
                assert seen.requests == []
                (measured,) = seen.console
                assert measured == f"measured {width} true "
                corners.append(sum(seen.pixels[450][2]))
            assert corners[0] > 600 > 200 > corners[1], f"{width}: light and dark are {corners}"
    finally:
        copy.unlink()
