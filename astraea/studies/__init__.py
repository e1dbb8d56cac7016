"""What the notebooks study: which runs each needs, and the tables that it makes of their results."""
