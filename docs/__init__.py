"""The documentation: pages, and the few extensions that build them into a site."""
