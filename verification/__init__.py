"""Our results against those of the programs that the papers' authors released."""
