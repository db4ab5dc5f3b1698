"""The report of one Workload: why it is pending, quota holders, potential preemptors and history."""
