"""Coverage-guided fuzzing: `python -m fuzz TARGET --seconds N --seed S`, or `--all`."""
