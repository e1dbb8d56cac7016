"""The gallery: pages that show every figure next to what the papers say, with the verdicts of their statements."""

from papers.gallery.pages import write_gallery

__all__ = ["write_gallery"]
