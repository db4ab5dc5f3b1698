"""Which domains changed, in order, so that each reader of counts updates only what changed since its last read.

Entries before the last ones are dropped; a reader that is further behind counts everything anew.
"""

LIMIT_PER_DOMAIN = 2


class ChangeLog:
    """Indexes of changed domains of the lowest level."""

    __slots__ = ("_entries", "_limit", "_start")

    def __init__(self, domains: int) -> None:
        self._limit = LIMIT_PER_DOMAIN * domains
        self._entries: list[int] = []
        self._start = 0

    @property
    def end(self) -> int:
        """Position after the last change."""
        return self._start + len(self._entries)

    def add(self, domain: int) -> None:
        """Log a change."""
        if len(self._entries) > self._limit:
            self._start = self.end
            self._entries.clear()
        self._entries.append(domain)

    def since(self, position: int) -> set[int] | None:
        """Domains that changed after a position; None if entries after it were dropped."""
        return None if position < self._start else set(self._entries[position - self._start :])


class DomainChanges:
    """Changes of the domains of one tree, for both capacity modes."""

    __slots__ = ("capacity", "usage")

    def __init__(self, domains: int) -> None:
        self.capacity = ChangeLog(domains)
        """What changes counts of an empty cluster too."""
        self.usage = ChangeLog(domains)
        """All of it."""

    def add_capacity(self, domain: int) -> None:
        """Log a change of what a domain has, or of assumed usage."""
        self.capacity.add(domain)
        self.usage.add(domain)
