"""One module per operator: the objects of its kinds, and their status."""
