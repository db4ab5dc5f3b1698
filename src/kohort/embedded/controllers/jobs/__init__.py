"""Jobs: pods that run to their end, counted exactly once."""
