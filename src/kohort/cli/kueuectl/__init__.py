"""`kubectl kueue …`: the commands of Kueue's own plugin, on Kohort's client (docs/spec/api-config-metrics.md §14)."""
