"""The other Astraea [Wang2023]: tenants that sell what they do not use, at posted prices."""
