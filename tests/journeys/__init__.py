"""Whole journeys of users' work, each one body that any control plane with the manager can be put to."""
