"""A Kubernetes control plane in one process: store, API server, built-in controllers, nodes and pods."""
