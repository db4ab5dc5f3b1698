"""PodDisruptionBudgets: how many pods of a group may be disrupted."""
