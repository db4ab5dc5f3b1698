"""Startup, readiness and liveness of containers, asked for as a kubelet asks."""
