"""How fast the lab's page is, in a headless Chromium: `python -m benchmarks.lab_page`.

Two figures are measured in the page itself: the milliseconds from moving a point to the new
verdict, with 200 points, and the milliseconds of script per frame, with 500 points and 1,000
hypotheses, while a training is played and when it jumps to its thousandth hypothesis. The browser's
profile adds the processor time of scripts per frame. Headless drawing uses the processor, so
nothing else should run at the same time.
"""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any

#: Numbers of points and moves for verdicts, and of points and hypotheses for frames.
VERDICT_POINTS, MOVES, FRAME_POINTS, HYPOTHESES = 200, 30, 500, 1000

#: Random points: separable by a line with a gap, or not at all.
_POINTS = """
let seed = 1;
const chance = () => (seed = seed * 16807 % 2147483647) / 2147483647;
const some = (n, apart) => Array.from({length: n}, (_, i) => {
  let [x, y] = [6 * chance() - 3, 6 * chance() - 3];
  if (apart) {
    if ((x + 0.7 * y > 0) !== (i % 2 === 1)) [x, y] = [-x, -y];
    [x, y] = [x, y].map((value) => value + (i % 2 ? 0.05 : -0.05));
  }
  return [+x.toFixed(2), +y.toFixed(2), i % 2];
});
const rest = (ms) => new Promise((done) => setTimeout(done, ms));
const show = async (points, settings) => {
  const learners = [{learner: "perceptron", settings}];
  lab.restore({format: 1, points, classes: [-1, 1], learners, frame: [-4, 4, -4, 4], position: 0});
  while (!lab.state().idle) await rest(50);
  await rest(300);
};
"""
_VERDICTS = """
const [n, moves, apart, done] = arguments;
(async () => {
  await show(some(n, apart), {epochs: 20});
  lab.timings.verdicts.length = 0;
  for (let k = 0; k < moves; k++) {
    const [x, y] = lab.points[k % n];
    lab.move(k % n, [+(x + 0.01).toFixed(2), y], true);
    await rest(250); // until it is trained again
  }
  done(lab.timings.verdicts);
})();
"""
_SHOW = """
const [n, wanted, keep, done] = arguments;
(async () => {
  await show(some(n, false), {epochs: 8, keep});
  lab.player.go(lab.cards[0].training.born[wanted] - 300);
  await rest(300);
  lab.timings.frames.length = 0;
  done();
})();
"""
_PLAY = """
const [done] = arguments;
(async () => {
  lab.player.setSpeed(50);
  lab.player.play();
  await rest(5000);
  lab.player.pause();
  done(lab.timings.frames);
})();
"""
_JUMP = """
const [wanted, done] = arguments;
(async () => {
  const at = lab.cards[0].training.born[wanted];
  lab.timings.frames.length = 0;
  for (let i = 0; i < 10; i++) {
    lab.player.go(i % 2 ? at : 0);
    await rest(100);
  }
  done(lab.timings.frames.length);
})();
"""


def main() -> int:
    """Measure, and print a line for each figure."""
    import widemargin

    with widemargin.lab() as lab:
        browser = _browser()
        try:
            browser.get(lab.url)
            _wait(browser)
            browser.set_script_timeout(120)
            for apart, name in ((True, "separable"), (False, "not separable")):
                script = _POINTS + _VERDICTS
                told = browser.execute_async_script(script, VERDICT_POINTS, MOVES, apart)
                print(f"verdict, {VERDICT_POINTS} points, {name}: {_told(told)}")
            for keep in ("last", "average", "vote"):
                what = f"{FRAME_POINTS} points, {HYPOTHESES:,} hypotheses, {keep}"
                given = (FRAME_POINTS, HYPOTHESES, keep)
                browser.execute_async_script(_POINTS + _SHOW, *given)
                began = _script_seconds(browser)
                told = browser.execute_async_script(_POINTS + _PLAY)
                mean = 1e3 * (_script_seconds(browser) - began) / len(told)
                began = _script_seconds(browser)
                frames = browser.execute_async_script(_POINTS + _JUMP, HYPOTHESES)
                jump = 1e3 * (_script_seconds(browser) - began) / frames
                print(f"frame, {what}: {_told(told)}; by the browser's profile {mean:.1f} ms")
                print(f"  to and from the last one: {jump:.1f} ms a frame by the browser's profile")
        finally:
            browser.quit()
    return 0


def _told(values: list[float]) -> str:
    """The median and the 95th percentile of a list of milliseconds, as text."""
    ordered = sorted(values)
    middle, late = ordered[len(ordered) // 2], ordered[int(0.95 * len(ordered))]
    return f"median {middle:.1f} ms, 95th percentile {late:.1f} ms ({len(ordered)} measured)"


def _script_seconds(browser: Any) -> float:
    """The processor time used by the page's scripts so far, from the browser's profile."""
    found = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(one["value"] for one in found if one["name"] == "ScriptDuration")


def _browser() -> Any:
    """A headless browser, 1,400 pixels wide."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "window-size=1400,1000"):
        options.add_argument(f"--{argument}")
    browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    return browser


def _wait(browser: Any) -> None:
    """Wait until the page has all its answers."""
    while not browser.execute_script("return Boolean(window.lab?.state().idle)"):
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
