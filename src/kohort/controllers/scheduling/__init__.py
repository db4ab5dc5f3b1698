"""The scheduler's shell: what wakes a turn, and how its decisions come to be written."""
