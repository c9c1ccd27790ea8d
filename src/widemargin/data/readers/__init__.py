"""From files, pipes and byte ranges to raw examples in chunks."""
