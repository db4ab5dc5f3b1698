"""Kohort queues batch and AI jobs on Kubernetes: quota, borrowing, fair share, topology and preemption."""

__version__ = "0.1.0"
