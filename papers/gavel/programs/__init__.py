"""Policies as optimization problems: programs, their solver, water filling."""
