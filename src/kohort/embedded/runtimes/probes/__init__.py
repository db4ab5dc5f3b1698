"""Startup, readiness and liveness probes, as executed by the kubelet."""
