"""Workloads: what is known of them now, and the controller that leads each through its life."""
