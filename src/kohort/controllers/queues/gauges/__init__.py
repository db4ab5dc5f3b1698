"""Gauges of queues and Cohorts, set on every replica."""
