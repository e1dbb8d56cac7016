"""The gallery: pages that show every figure next to what the papers say, with the verdicts of their statements.

Captions are in TOML, and findings are a template. The pages themselves are lists of lines: nearly every part is shown
only if its files or verdicts exist, and every blank line counts in Markdown. A template would consist of conditions,
and of marks that remove blank lines.
"""
