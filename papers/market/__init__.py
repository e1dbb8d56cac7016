"""The market [Wang2023]: tenants sell idle resources at posted prices. Its authors call it Astraea."""
