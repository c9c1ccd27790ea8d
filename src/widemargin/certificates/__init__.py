"""What certificates say, duality gaps, and the verifier, which shares no code with the solvers."""
