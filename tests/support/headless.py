"""Pages as a real browser shows them: headless Chromium, what it logs, what it asks the network, what it paints."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

#: Debian's packages, and what others call theirs.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """The browser that TEST_BROWSER names, or else the first of this machine, if there is one."""
    names = [os.environ["TEST_BROWSER"]] if "TEST_BROWSER" in os.environ else NAMES
    return next((found for name in names if (found := shutil.which(name))), None)


#: The initiator of requests that no page asked for.
BROWSER = "not an origin"
#: A full browser makes requests of its own, for updates and accounts, unless these switches are given.
QUIET = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic")


@dataclass(frozen=True)
class Seen:
    """What the browser did with a page."""

    console: list[str]
    requests: list[str]
    picture: Path

    @cached_property
    def pixels(self) -> list[list[tuple[int, int, int]]]:
        """Rows of the screenshot."""
        with Image.open(self.picture) as image:
            pixels, width = list(image.convert("RGB").get_flattened_data()), image.width
        return [pixels[start : start + width] for start in range(0, len(pixels), width)]


def look_at(page: Path, directory: Path, *, is_dark: bool, size: tuple[int, int] = (1000, 1600)) -> Seen:
    """Open a page and take a screenshot.

    The size is that of the page as the browser emulates it: a window of a full browser cannot be narrower than 500 pixels.
    """
    name = "dark" if is_dark else "light"
    picture, log = directory / f"{name}.png", directory / f"{name}.netlog.json"
    console: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-gpu", "--hide-scrollbars", *QUIET, f"--log-net-log={log}"]
        )
        opened = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=name)
        # What cannot be loaded is among the requests. A page opened from a file also tries an index of the search that only a server needs.
        opened.on("console", lambda message: None if message.text.startswith("Failed to load resource") else console.append(message.text))
        opened.on("pageerror", lambda error: console.append(str(error)))
        opened.goto(page.as_uri(), wait_until="load")
        opened.screenshot(path=picture)
        browser.close()
    return Seen(console, requests_of(log.read_text()), picture)


def requests_of(log: str) -> list[str]:
    """URLs of a network log that the page asked for, and origins that it connected to or resolved ahead of a request.

    A full browser also makes requests of its own, for updates and accounts. They have no origin as their initiator.
    """
    try:
        events = json.loads(log)["events"]
    except json.JSONDecodeError:
        # A browser that is ended at once does not close the list.
        events = json.loads(log.rstrip().rstrip(",") + "]}")["events"]
    asked = (event.get("params", {}) for event in events)
    urls = {params.get("url") or params.get("host") or "" for params in asked if is_of_page(params)}
    # Some browsers name the default port of an origin that they connect to ahead of a request.
    return sorted(url.removesuffix(":80") for url in urls if url.startswith(("http:", "https:", "ws:", "wss:", "ftp:")))


def is_of_page(params: dict[str, Any]) -> bool:
    """True of an event that a page opened from a file caused."""
    partition = params.get("network_isolation_key") or params.get("network_anonymization_key") or ""
    return params.get("initiator", BROWSER) != BROWSER or partition.startswith("file:")
