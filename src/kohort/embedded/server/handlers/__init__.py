"""Handlers of the verbs on resources: get, list, watch, create, update, patch, apply and delete."""
