"""Build docs/lectures and the pictures: `python docs/build.py`, from the root of the repository.

The pages are written in docs/lectures/source. Two kinds of lines are replaced:

    {{loop MODULE FUNCTION}}    the pseudocode of a compiled loop beside the loop itself, as they
                                stand in the source now
    {{picture NAME: WORDS}}     a picture that is made here, and what it shows

A test builds the pages again and compares, so that they cannot fall behind the code.
"""

from __future__ import annotations

import ast
import html
import io
import pathlib
import re
import sys
import textwrap
from collections.abc import Callable
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
LECTURES = ROOT / "docs" / "lectures"
NOTE = "<!-- Made by docs/build.py from docs/lectures/source; change it there. -->"


def loop_beside_pseudocode(module: str, name: str) -> str:
    """A table: the pseudocode in a loop's docstring, and the loop."""
    path = ROOT / "src" / pathlib.Path(*module.split(".")).with_suffix(".py")
    text = path.read_text(encoding="utf-8")
    found = next(
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name == name
    )
    written = ast.get_docstring(found, clean=True) or ""
    blocks = re.findall(r"(?:^    .*\n?(?:^\s*\n(?=    ))?)+", written, flags=re.MULTILINE)
    if not blocks:
        raise ValueError(f"{module}.{name}: its docstring has no pseudocode")
    pseudocode = textwrap.dedent(blocks[0]).strip("\n")
    lines = text.splitlines()
    code = "\n".join([lines[found.lineno - 1], *lines[found.body[1].lineno - 1 : found.end_lineno]])
    source = f"../../{path.relative_to(ROOT).as_posix()}"
    return (
        f'<table>\n<tr><th>the lecture</th><th>the loop, <a href="{source}">{name}</a></th></tr>\n'
        f'<tr valign="top"><td><pre>{html.escape(pseudocode, quote=False)}</pre></td>\n'
        f"<td><pre>{html.escape(code, quote=False)}</pre></td></tr>\n</table>"
    )


def page(source: pathlib.Path) -> str:
    """One page from its source."""
    text = source.read_text(encoding="utf-8")
    text = re.sub(
        r"^\{\{loop (\S+) (\S+)\}\}$",
        lambda found: loop_beside_pseudocode(found[1], found[2]),
        text,
        flags=re.MULTILINE,
    )
    text = re.sub(
        r"^\{\{picture (\S+): (.+)\}\}$",
        lambda found: f"![{found[2]}](pictures/{found[1]}.png)\n\n*{found[2]}*",
        text,
        flags=re.MULTILINE,
    )
    return f"{NOTE}\n\n{text}"


def pages() -> dict[str, str]:
    """All pages by the name of their file."""
    return {source.name: page(source) for source in sorted((LECTURES / "source").glob("*.md"))}


def wanted_pictures() -> set[str]:
    """The pictures that the pages show."""
    text = "".join(source.read_text("utf-8") for source in (LECTURES / "source").glob("*.md"))
    return set(re.findall(r"^\{\{picture (\S+):", text, flags=re.MULTILINE))


def clouds() -> tuple[Any, Any]:
    """Two clouds of 60 points each."""
    import numpy as np

    rng = np.random.default_rng(0)
    middle = np.array([1.25, 1.0])
    X = np.vstack([rng.normal(middle, 1.0, (60, 2)), rng.normal(-middle, 1.0, (60, 2))])
    return X, np.repeat(["x", "o"], 60)


def worked_example() -> tuple[Any, Any, Any]:
    """The worked example of the lectures (L9), learned."""
    import numpy as np

    from widemargin import Perceptron

    X = np.array([[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]])
    y = np.array([-1, 1, 1, -1, -1, 1])
    return Perceptron(keep="vote", shuffle=False, fit_intercept=False).fit(X, y), X, y


def figures() -> dict[str, Callable[[], Any]]:
    """Every picture of the pages, by name; each is drawn when it is called."""
    import numpy as np
    from sklearn.datasets import load_digits

    import widemargin as wm

    def digits() -> tuple[Any, Any]:
        return load_digits(return_X_y=True)

    def problem_set() -> tuple[Any, Any]:
        X = np.array([[1, 1], [1, 3], [2, 1], [2, 2]])
        return np.vstack([X, -X]), np.repeat(["class 1", "class 2"], 4)

    def separable() -> tuple[Any, Any]:
        rng = np.random.default_rng(0)
        X = [rng.normal(middle, 0.6, (100, 2)) for middle in ([2.6, 2.2], [0.2, -0.1])]
        return np.vstack(X), np.repeat(["x", "o"], 100)

    def voted(X: Any, y: Any, **options: Any) -> Any:
        return wm.Perceptron(keep="vote", random_state=0, **options).fit(X, y)

    def several_classes() -> Any:
        X, y = digits()
        return wm.Perceptron(random_state=0).fit(X[:1200], y[:1200])

    def bound() -> Any:
        X, y = separable()
        return wm.plot_bound(wm.certify(voted(X, y, epochs=50), X, y))

    def rings() -> tuple[Any, Any]:
        rng = np.random.default_rng(0)
        angle = rng.uniform(0.0, 2.0 * np.pi, 120)
        radius = np.repeat([0.6, 1.6], 60) + rng.normal(0.0, 0.15, 120)
        X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        return X, np.repeat(["x", "o"], 60)

    def tags() -> Any:
        sentences = ["the dog sees a cat", "a cat sleeps", "the dog sleeps", "she likes the house"]
        labels = ["D N V D N", "D N V", "D N V", "P V D N"]
        learned = wm.Tagger(epochs=5, bits=12, random_state=0).fit(
            [text.split() for text in sentences], [text.split() for text in labels]
        )
        words = ["she", "sees", "the", "old", "cat"]
        return wm.plot_tags(words, learned.tag(words), learned.margins(words))

    def in_orders(seed: Any) -> Any:
        return wm.Perceptron(keep="vote", epochs=1, random_state=seed).fit(*clouds())

    return {
        "steps": lambda: wm.plot_path(*worked_example(), panels=3),
        "path": lambda: wm.plot_path(*worked_example()),
        "bound": bound,
        "orders": lambda: wm.plot_orders(in_orders, *clouds(), over=range(5)),
        "votes": lambda: wm.plot_votes(voted(*clouds(), epochs=3), [0.1, 0.05]),
        "voted": lambda: wm.plot_boundary(voted(*clouds(), epochs=3), *clouds()),
        "along": lambda: wm.plot_losses(
            wm.Perceptron(keep="last", batch="full", eta=0.01, random_state=0).fit(*clouds()),
            *clouds(),
        ),
        "images": lambda: wm.plot_weights(several_classes(), shape=(8, 8)),
        "confusion": lambda: wm.plot_confusion(
            several_classes(), digits()[0][1200:], digits()[1][1200:]
        ),
        "aggressive": lambda: wm.plot_boundary(
            wm.PassiveAggressive(C=0.05, epochs=20, random_state=0).fit(*clouds()), *clouds()
        ),
        "losses": wm.plot_losses,
        "hard": lambda: wm.plot_boundary(
            wm.LinearSVM(C=np.inf, bias="free").fit(*problem_set()), *problem_set()
        ),
        "soft": lambda: wm.plot_boundary(wm.LinearSVM(random_state=0).fit(*clouds()), *clouds()),
        "rings": lambda: wm.plot_kernel(
            wm.KernelPerceptron(
                kernel="poly", degree=2, coef0=1.0, keep="last", random_state=0
            ).fit(*rings()),
            *rings(),
        ),
        "gaussian": lambda: wm.plot_kernel(wm.KernelSVM(gamma=1.0).fit(*rings()), *rings()),
        "tags": tags,
        "gap": lambda: wm.plot_history(wm.LinearSVM(random_state=0, tol=1e-4).fit(*clouds())),
    }


def write_picture(shown: Any, path: pathlib.Path) -> None:
    """A picture 400 dots wide, in few colours, so that the repository stays small."""
    import matplotlib.pyplot
    from PIL import Image

    room = io.BytesIO()
    shown.figure_.savefig(room, dpi=100)
    matplotlib.pyplot.close("all")
    Image.open(room).convert("RGB").quantize(128).save(path, optimize=True)


def main() -> None:
    """Write all pages and pictures."""
    import matplotlib

    matplotlib.use("Agg")
    import widemargin as wm

    drawers = figures()
    for name in sorted(wanted_pictures()):
        (LECTURES / "pictures").mkdir(exist_ok=True)
        write_picture(drawers[name](), LECTURES / "pictures" / f"{name}.png")
    shown = ROOT / "docs" / "pictures"
    shown.mkdir(exist_ok=True)
    learned, X, y = worked_example()
    wm.animate(learned, X, y, shown / "learning.gif", certificate=wm.certify(learned, X, y))
    write_picture(drawers["soft"](), shown / "margin.png")
    for name, text in pages().items():
        (LECTURES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    main()
