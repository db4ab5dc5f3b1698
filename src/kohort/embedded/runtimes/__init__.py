"""Runtimes that really run pods: local processes, or containers of podman and docker."""
