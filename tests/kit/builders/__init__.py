"""Builders of objects: one function per kind, the usual values as defaults."""
