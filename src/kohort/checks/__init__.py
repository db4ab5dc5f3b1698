"""Controllers of admission checks: a base for any check, and the check that requests nodes from an autoscaler."""
