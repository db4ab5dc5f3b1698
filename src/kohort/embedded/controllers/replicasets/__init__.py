"""ReplicaSets: a number of interchangeable pods of one template."""
