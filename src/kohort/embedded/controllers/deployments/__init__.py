"""Deployments: one ReplicaSet per template, and the way from one to the next."""
