"""Parsed requests: path, request info, query options, resource request and write operation."""
