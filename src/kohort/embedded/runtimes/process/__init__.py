"""Pods as processes of this machine, each pod in the care of a small process of its own that outlives the agent."""
