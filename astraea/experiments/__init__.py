"""Many runs: grids of them in parallel, with every result in a content-addressed cache."""
