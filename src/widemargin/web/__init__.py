"""HTTP servers: the server of trained models, and the lab."""
