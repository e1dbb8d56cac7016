"""Planners of a market: Astraea of [Wang2023] and its rivals."""
