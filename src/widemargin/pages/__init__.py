"""Reports: one HTML page about a model."""
