"""Algorithms 1 to 5 of [Wang2023]."""
