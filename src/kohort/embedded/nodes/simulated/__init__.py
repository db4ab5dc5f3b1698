"""A runtime without processes: pods start, run, fail and finish by the clock, as set by their annotations."""
