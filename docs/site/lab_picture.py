"""Make the picture of the lab in docs/pictures: `python -m docs.site.lab_picture`.

It needs chromium and chromedriver, and the extras `lab` and `docs`.
"""

from __future__ import annotations

import base64
import io
import pathlib
import shutil
import sys
import time
from typing import Any

PICTURE = pathlib.Path(__file__).resolve().parent.parent / "pictures" / "lab.png"
#: What is shown: a preset after so many steps, as wide and high as this.
PRESET, STEPS, SIZE = "six", 3, (1200, 960)


def main() -> int:
    """Open the lab in a browser without a window, and save what it shows."""
    from selenium import webdriver

    import widemargin

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "no-first-run"):
        options.add_argument(f"--{argument}")
    with widemargin.lab() as lab:
        browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            PICTURE.write_bytes(_picture(browser, lab.url))
        finally:
            browser.quit()
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")
    return 0


def _picture(browser: Any, url: str) -> bytes:
    """The page with the preset, as a PNG of few colours."""
    from PIL import Image

    width, height = SIZE
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    browser.get(url)
    _wait(browser)
    choose = "lab.load(lab.setup.presets.find((one) => one.name === arguments[0]))"
    browser.execute_script(choose, PRESET)
    _wait(browser)
    browser.execute_script("lab.player.go(arguments[0])", STEPS)
    _wait(browser)
    shown = base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", {})["data"])
    room = io.BytesIO()
    whole = Image.open(io.BytesIO(shown)).convert("RGB")
    # Half of the palette for what is frequent, such as shades, and half for colours of all kinds.
    often, all_over = whole.quantize(128), whole.quantize(128, Image.Quantize.FASTOCTREE)
    both = Image.new("P", (1, 1))
    both.putpalette([*often.getpalette()[:384], *all_over.getpalette()[:384]])
    few = whole.quantize(palette=both, dither=Image.Dither.FLOYDSTEINBERG)
    few.save(room, format="png", optimize=True)
    return room.getvalue()


def _wait(browser: Any) -> None:
    """Wait until the page has all its answers."""
    until = time.monotonic() + 60.0
    while not browser.execute_script("return Boolean(window.lab?.state().idle)"):
        if time.monotonic() > until:
            raise TimeoutError("the lab did not come to rest")
        time.sleep(0.05)
    time.sleep(0.3)  # the last frame


if __name__ == "__main__":
    sys.exit(main())
