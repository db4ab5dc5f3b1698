"""Golden recordings of the real Kueue (tests/golden), and the replays of admission, of lifecycles and of jobs."""
