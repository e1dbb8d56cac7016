"""Pictures of tables: one style, one function for each kind of chart."""
