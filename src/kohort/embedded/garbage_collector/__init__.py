"""What tidies up after deletes: garbage collection by owners, and the end of namespaces."""
