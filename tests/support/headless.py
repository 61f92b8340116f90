"""Pages as a real browser shows them: headless Chromium, what it logs, what it asks the network, what it paints."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from PIL import Image

#: Debian's packages, and what others call theirs.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """The browser of this machine, if there is one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


#: The initiator of requests that no page asked for.
BROWSER = "not an origin"


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
    """Open a page and take a screenshot."""
    name = "dark" if is_dark else "light"
    picture, log = directory / f"{name}.png", directory / f"{name}.netlog.json"
    scheme = 0 if is_dark else 1
    command = [chromium() or "", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr"]
    command += [f"--user-data-dir={directory / name}", f"--log-net-log={log}", f"--blink-settings=preferredColorScheme={scheme}"]
    command += ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"]
    command += [f"--window-size={size[0]},{size[1]}", f"--screenshot={picture}", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert picture.exists(), done.stderr
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
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
    return sorted(url for url in urls if url.startswith(("http:", "https:", "ws:", "wss:", "ftp:")))


def is_of_page(params: dict[str, Any]) -> bool:
    """True of an event that a page opened from a file caused."""
    partition = params.get("network_isolation_key") or params.get("network_anonymization_key") or ""
    return params.get("initiator", BROWSER) != BROWSER or partition.startswith("file:")
