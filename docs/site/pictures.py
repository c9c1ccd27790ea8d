"""The directive `picture`: a drawing of `docs/site/drawings.py`, made when the site is built.

```{picture} steps
The worked example: three mistakes, each with the line before it (dashed) and after it.
```
"""

from __future__ import annotations

import pathlib
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

#: Where drawings are put; relative to the sources, and left out of the repository.
FOLDER = "_build/pictures"


class PictureDirective(Directive):
    """A drawing with a caption, which also is what a screen reader says."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """The figure."""
        from docs.site.drawings import DRAWINGS

        name = self.arguments[0]
        if name not in DRAWINGS:
            raise self.error(f"there is no drawing {name!r} in docs/site/drawings.py")
        self.assert_has_content()
        words = " ".join(self.content)
        image = nodes.image(uri=f"/{FOLDER}/{name}{DRAWINGS[name].suffix}", alt=words)
        caption = nodes.caption()
        self.state.nested_parse(self.content, self.content_offset, caption)
        inside = caption.children[0].children if caption.children else []
        caption = nodes.caption("", "", *[child.deepcopy() for child in inside])
        return [nodes.figure("", image, caption)]


def draw_all(app: Any) -> None:
    """Make the drawings before any page is read, unless they are up to date."""
    from docs.site.drawings import draw_missing

    draw_missing(pathlib.Path(app.srcdir) / FOLDER)


def setup(app: Any) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("picture", PictureDirective)
    app.connect("builder-inited", draw_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
