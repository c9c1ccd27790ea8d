"""Separability: peeling, nearest points, exact lifting."""
