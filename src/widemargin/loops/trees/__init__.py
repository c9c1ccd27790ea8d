"""Parsers: transitions, beams, spanning trees, labels."""
