"""Statements of the papers and how each is judged."""
