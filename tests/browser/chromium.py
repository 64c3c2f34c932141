"""Find and start Chromium."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@contextmanager
def running_chromium() -> Iterator[Browser]:
    """Run a headless Chromium until the end of the ``with`` statement."""
    from playwright.sync_api import sync_playwright

    found = subprocess.run(["scripts/find-chromium", "--find"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, f"There is no Chromium: make browser\n{found.stderr}"
    # No other host can be found, as on a machine without a network.
    options = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    if os.geteuid() == 0:  # as CI is: Chromium starts only without its isolation of processes
        options.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found.stdout.strip(), args=options)
        try:
            yield browser
        finally:
            browser.close()
