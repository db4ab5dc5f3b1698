"""ReplicaSets: so many pods of one template, whichever they are."""
