"""Remote files: object stores and web servers."""
