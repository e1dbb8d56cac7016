"""The other Astraea [Wang2023]: a market where tenants sell idle resources at posted prices."""
