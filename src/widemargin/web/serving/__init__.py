"""The server of trained models."""
