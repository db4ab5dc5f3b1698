"""Controllers of queues, Cohorts and objects that they reference: finalizers, conditions, status and gauges.

The engine decides; these controllers compare its state with the API server's
and write differences.
"""
