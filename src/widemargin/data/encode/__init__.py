"""From raw examples to rows and label codes."""
