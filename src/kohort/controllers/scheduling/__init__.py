"""The scheduler loop around the engine, and the writer of its decisions."""
