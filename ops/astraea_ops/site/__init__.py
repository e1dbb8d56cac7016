"""A cluster's own configuration, as a simulation reads it."""
