"""Store what widemargin learns as arrays, to compare bit for bit before and after a change."""
