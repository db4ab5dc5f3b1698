"""Reports about a cluster, computed from a snapshot with the functions of the engine.

Works on any cluster with Kueue's kinds, managed by Kohort or Kueue. Read-only.
"""
