"""Planners of a market: posted prices [Wang2023], and its three rivals."""
