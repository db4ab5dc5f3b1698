"""Local clusters: their directories, and starting and stopping a cluster that is one process."""
