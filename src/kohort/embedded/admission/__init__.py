"""What happens to a write between its sender and the store: the admission chain."""
