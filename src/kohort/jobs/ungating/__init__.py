"""Removal of scheduling gates from pods that a Workload started: within slices of elastic jobs, and by topology."""
