"""Diagnoses queueing problems of a cluster: each finding has its objects, its numbers and its remedy."""
