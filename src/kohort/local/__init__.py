"""Clusters that are kept on this machine: where they are, how they start as one process, live on and stop."""
