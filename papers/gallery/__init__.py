"""The gallery: pages that show every figure next to what the papers say, with the verdicts of their statements."""
