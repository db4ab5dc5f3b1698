"""End-to-end scenarios, each of which runs on any control plane with the manager."""
