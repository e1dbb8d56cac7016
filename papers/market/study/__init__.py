"""What the notebooks ask of the market of [Wang2023]."""
