"""A cluster's own log: who got what they were owed, who waited and why, and what another scheduler would have done."""
