"""Whether jobs that were never submitted would start now: manifests to Workloads, judged one after the other."""
