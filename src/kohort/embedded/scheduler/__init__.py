"""The pod scheduler: assigns unscheduled pods to nodes and reports why a pod is unschedulable."""
