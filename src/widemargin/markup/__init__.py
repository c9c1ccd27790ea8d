"""Pieces of HTML and small SVG charts, for notebooks and reports."""
