"""Files that are elsewhere: object stores and web servers."""
