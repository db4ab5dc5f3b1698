"""Checks whether unsubmitted jobs would be admitted now."""
