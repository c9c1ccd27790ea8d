"""Settings of the documentation site; `python -m docs` builds it."""

from __future__ import annotations

import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import widemargin  # noqa: E402

project = "widemargin"
author = "The widemargin developers"
project_copyright = author
version = release = widemargin.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "docs.site.docstrings",
    "docs.site.loops",
    "docs.site.pictures",
    "docs.site.reference",
    "docs.site.shell",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "site", "**/GALLERY_HEADER.rst"]
templates_path = ["site/templates"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
default_role = "code"  # docstrings write `x`, as Markdown does

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc shows the types that docstrings give
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("matplotlib",),
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 1_000_000,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": ("_repr_html_", "__repr__"),
    "doc_module": ("widemargin",),
    "backreferences_dir": "gallery/uses",
}

html_theme = "pydata_sphinx_theme"
html_title = "widemargin"
html_static_path = ["site/static"]
html_css_files = ["widemargin.css"]
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start/which_learner": []}
# Whoever clones the sources reads the pages as files, whose links lead out of docs/ now and then.
suppress_warnings = ["config.cache"]
nitpicky = False


def setup(app: object) -> None:
    """Let blocks of the files that pages show be plain text to the highlighter."""
    from pygments.lexers.special import TextLexer

    for language in ("csv", "conllu"):
        app.add_lexer(language, TextLexer)  # type: ignore[attr-defined]
