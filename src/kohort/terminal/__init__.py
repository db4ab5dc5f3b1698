"""Terminal output: colours by role, tables, bars, ages and live views; independent of Kubernetes kinds."""
