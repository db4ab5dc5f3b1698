"""Errors that prevent a manager from starting."""

from kohort.api.errors import ApiError


class StartError(ApiError):
    """The manager cannot start and a retry would not help; one line that includes the remedy."""
