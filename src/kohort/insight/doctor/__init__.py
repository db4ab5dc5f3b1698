"""What silently goes wrong on a cluster with queues, each finding with its object, its numbers and its fix."""
