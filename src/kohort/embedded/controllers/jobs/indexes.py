"""Sets of completion indexes as intervals: a hundred thousand completed indexes are usually a few intervals.

The text format is that of a Job's status, `1,3-5,7`: intervals of three and more have a dash, pairs a comma.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge

_Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Indexes:
    """Sorted inclusive intervals that neither overlap nor touch."""

    spans: tuple[_Span, ...] = ()

    @classmethod
    def of(cls, indexes: Iterable[int]) -> "Indexes":
        """The set of single indexes, given in any order."""
        return cls(tuple(_joined((each, each) for each in sorted(indexes))))

    @classmethod
    def parse(cls, text: str, limit: int) -> "Indexes":
        """Parses the text of a status, up to but not including a limit; invalid parts are skipped."""
        spans = (_span(part, limit) for part in text.split(",") if part)
        return cls(tuple(_joined(sorted(span for span in spans if span is not None))))

    def __str__(self) -> str:
        return ",".join(_text(first, last) for first, last in self.spans)

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.spans)

    def __contains__(self, index: object) -> bool:
        if not isinstance(index, int):
            return False
        place = bisect_right(self.spans, index, key=lambda span: span[0]) - 1
        return place >= 0 and self.spans[place][1] >= index

    def __or__(self, other: "Indexes") -> "Indexes":
        return Indexes(tuple(_joined(merge(self.spans, other.spans))))

    def common(self, other: "Indexes") -> int:
        """Number of indexes in both sets."""
        return len(self) + len(other) - len(self | other)

    def missing(self, limit: int, count: int) -> list[int]:
        """The first indexes below a limit that are not in the set, at most `count`."""
        found: list[int] = []
        for first, end in self._gaps(limit):
            found.extend(range(first, min(end, first + count - len(found))))
            if len(found) == count:
                break
        return found

    def _gaps(self, limit: int) -> Iterator[_Span]:
        start = 0
        for first, last in self.spans:
            yield start, min(first, limit)
            start = last + 1
        yield start, limit


def _joined(spans: Iterable[_Span]) -> Iterator[_Span]:
    """Merges overlapping and adjacent intervals."""
    current: _Span | None = None
    for first, last in spans:
        if current is not None and first <= current[1] + 1:
            current = (current[0], max(current[1], last))
            continue
        if current is not None:
            yield current
        current = (first, last)
    if current is not None:
        yield current


def _span(text: str, limit: int) -> _Span | None:
    first, dash, last = text.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        return None
    span = int(first), min(int(last) if dash else int(first), limit - 1)
    return span if span[0] <= span[1] else None


def _text(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}{',' if last == first + 1 else '-'}{last}"
