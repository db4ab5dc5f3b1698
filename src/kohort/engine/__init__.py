"""What Kohort decides. Pure: typed events in, decisions out; no I/O, no clock, no randomness."""
