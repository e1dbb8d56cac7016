"""Commands that astraea gains."""
