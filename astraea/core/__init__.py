"""What all systems share and nothing else: errors, files, arrays, results, metrics, compilation."""
