"""Workloads: the assume cache, and the controller that reconciles them."""
