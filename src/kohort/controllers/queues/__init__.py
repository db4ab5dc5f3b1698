"""ClusterQueues, LocalQueues, Cohorts and what they name: finalizers, conditions, figures in status and gauges.

What is decided is decided in the engine; here it is read off, compared with
what the server has, and written where it differs.
"""
