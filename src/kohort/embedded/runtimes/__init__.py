"""Runtimes that run pods: as local processes, or as containers of podman or docker."""
