"""`kubectl kueue`: the commands of Kueue's kubectl plugin (docs/spec/api-config-metrics.md §14)."""
