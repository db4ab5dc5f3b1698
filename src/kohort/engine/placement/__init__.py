"""Places pods after their quota is found: which pod sets, in which flavors, and what the outcome counts."""
