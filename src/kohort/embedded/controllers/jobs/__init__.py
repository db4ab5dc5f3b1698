"""Jobs: pods that run to completion, counted exactly once."""
