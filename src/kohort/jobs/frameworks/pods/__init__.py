"""Plain pods and pod groups, and what kinds that suspend by their pods share."""
