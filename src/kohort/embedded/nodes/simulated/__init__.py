"""A runtime without processes: pods start, run, fail and end by the clock, as their annotations say."""
