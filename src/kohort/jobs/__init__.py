"""Jobs of any framework as Workloads: built, started, stopped and finished, all on one contract."""
