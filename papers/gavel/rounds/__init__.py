"""The round-based mechanism, compiled."""
