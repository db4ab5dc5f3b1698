"""The pod scheduler: finds a node for every pod that has none, and says why there is none."""
