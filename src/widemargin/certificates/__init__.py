"""Certificates, duality gaps, and the verifier, which shares no code with the solvers."""
