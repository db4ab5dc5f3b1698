"""Pods as processes of this machine, each with a shim process that outlives the agent."""
