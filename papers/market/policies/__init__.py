"""Who plans a market: Astraea of [Wang2023] and what it is compared with."""
