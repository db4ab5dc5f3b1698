"""Handlers of subresources: status, scale, binding, eviction, log, token and the reviews."""
