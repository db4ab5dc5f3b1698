"""The lifecycle of a Workload as pure functions: reserved, checked, admitted, evicted, requeued, finished.

Each function takes a Workload and its context and returns a Workload, the same object if nothing changes, and events
as data. `reconciliation.reconcile` combines them; README.md has a diagram.
"""
