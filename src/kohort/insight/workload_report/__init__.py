"""The story of one Workload: why it waits, who holds what it needs, who may take its place, what happened to it."""
