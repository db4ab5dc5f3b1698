"""The manager: all parts of Kohort in one process, on any Kubernetes API server."""
