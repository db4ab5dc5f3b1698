"""The admission chain and its plugins."""
