"""Code that all systems share: errors, files, arrays, results, metrics, compilation."""
