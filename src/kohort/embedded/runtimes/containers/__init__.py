"""Pods as containers of podman or docker, through their command line."""
