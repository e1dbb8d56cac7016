"""Many runs: grids of them in parallel, each result once in a content-addressed cache."""
