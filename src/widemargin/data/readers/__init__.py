"""Files, pipes and byte ranges -> raw examples in chunks."""
