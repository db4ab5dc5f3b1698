"""Cleanup controllers: the garbage collector, the namespace controller and namespace defaults."""
