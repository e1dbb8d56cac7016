"""Studies of the notebooks on the market of [Wang2023]."""
