"""The life of a Workload as pure functions: reserved, checked, admitted, evicted, requeued, finished.

Each function takes a Workload and facts and gives a Workload back, the very same object where nothing has to change,
and events as data. `reconciliation.reconcile` puts them together; README.md has the picture.
"""
