"""Counters, gauges and histograms: a family is a name with labels, a series one set of their values.

Series are grouped by their owner (a queue or cohort), so that dropping those of a deleted owner is one operation.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import inf
from typing import Final, Generic, TypeVar

Values = tuple[str, ...]
_Value = TypeVar("_Value")
Pairs = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class MetricScope:
    """The labels that identify an owner of series, which owners are reported, and extra labels of each."""

    owner: Values = ()
    reports: Callable[[Values], bool] = lambda _: True
    extra_labels: Callable[[Values], Pairs] = lambda _: ()


EVERYTHING: Final = MetricScope()


class LabelError(TypeError):
    """A series was recorded with labels that its family does not have: a programming error."""


class Family(Generic[_Value]):
    """A metric with all its series; the labels of the scope's owner come first."""

    kind: str

    def __init__(self, name: str, help_text: str, labels: Values, scope: MetricScope = EVERYTHING) -> None:
        self.name = name
        self.help_text = help_text
        self.labels = scope.owner + labels
        self.scope = scope
        self._owners: dict[Values, dict[Values, _Value]] = {}

    def forget(self, *owner: str) -> None:
        """Drop every series of an owner: the values of the scope's labels, in their order."""
        self._owners.pop(owner, None)

    def clear(self) -> None:
        """Drop every series."""
        self._owners.clear()

    def pages(self) -> Iterator[str]:
        """The series in text format, one string per owner, so that rendering can be interleaved with other work."""
        for owner in sorted(self._owners):
            table = self._owners.get(owner)
            if table:
                extra = tuple(self.scope.extra_labels(owner))
                yield "".join(self._text(self._label_text(owner + rest, extra), table[rest]) for rest in sorted(table))

    def _label_text(self, values: Values, extra: Pairs) -> str:
        pairs = sorted((*zip(self.labels, values, strict=True), *extra))
        return ",".join([f'{name}="{quoted(value)}"' for name, value in pairs])

    def _text(self, labels: str, value: _Value) -> str:
        raise NotImplementedError

    def _series(self, labels: Mapping[str, str]) -> tuple[dict[Values, _Value], Values] | None:
        """The table of a series' owner and its key there; None if the owner is not reported."""
        try:
            values = tuple([labels[name] for name in self.labels])
        except KeyError as missing:
            raise LabelError(f"{self.name} needs label {missing}") from missing
        if len(labels) != len(values):
            raise LabelError(f"{self.name} has no labels {sorted(set(labels) - set(self.labels))}")
        split = len(self.scope.owner)
        owner = values[:split]
        if not self.scope.reports(owner):
            return None
        table = self._owners.get(owner)
        if table is None:
            table = self._owners[owner] = {}
        return table, values[split:]


class _Number(Family[float]):
    def value(self, **labels: str) -> float | None:
        """The value of a series, or None."""
        slot = self._series(labels)
        return None if slot is None else slot[0].get(slot[1])

    def _text(self, labels: str, value: float) -> str:
        return f"{self.name}{_braced(labels)} {number(value)}\n"


class Counter(_Number):
    """A value that only increases."""

    kind = "counter"

    def inc(self, by: float = 1, /, **labels: str) -> None:
        """Increase a series."""
        slot = self._series(labels)
        if slot is not None:
            table, key = slot
            table[key] = table.get(key, 0) + by


class Gauge(_Number):
    """A value that can go up and down."""

    kind = "gauge"

    def set(self, value: float, /, **labels: str) -> None:
        """Set the value of a series."""
        slot = self._series(labels)
        if slot is not None:
            slot[0][slot[1]] = value


class _Distribution:
    __slots__ = ("counts", "total")

    def __init__(self, buckets: int) -> None:
        self.counts = [0] * (buckets + 1)
        self.total = 0.0


class Histogram(Family[_Distribution]):
    """The distribution of values over buckets."""

    kind = "histogram"

    def __init__(
        self, name: str, help_text: str, labels: Values, buckets: tuple[float, ...], scope: MetricScope = EVERYTHING
    ) -> None:
        super().__init__(name, help_text, labels, scope)
        self.buckets = buckets
        self._bounds = [number(bound) for bound in (*buckets, inf)]

    def observe(self, value: float, /, **labels: str) -> None:
        """Record a value."""
        slot = self._series(labels)
        if slot is None:
            return
        table, key = slot
        if key not in table:
            table[key] = _Distribution(len(self.buckets))
        table[key].counts[bisect_left(self.buckets, value)] += 1
        table[key].total += value

    def count(self, **labels: str) -> int:
        """The number of values of a series."""
        slot = self._series(labels)
        return 0 if slot is None or slot[1] not in slot[0] else sum(slot[0][slot[1]].counts)

    def _text(self, labels: str, value: _Distribution) -> str:
        before, braced = f"{labels}," if labels else "", _braced(labels)
        reached = list(accumulate(value.counts))
        lines = [
            f'{self.name}_bucket{{{before}le="{bound}"}} {count}\n'
            for bound, count in zip(self._bounds, reached, strict=True)
        ]
        lines.append(f"{self.name}_sum{braced} {number(value.total)}\n")
        lines.append(f"{self.name}_count{braced} {reached[-1]}\n")
        return "".join(lines)


def _braced(labels: str) -> str:
    return f"{{{labels}}}" if labels else ""


def escaped(text: str) -> str:
    """A help text, escaped for the text format."""
    return text.replace("\\", r"\\").replace("\n", r"\n")


def quoted(text: str) -> str:
    """A label value, escaped for the text format."""
    return escaped(text).replace('"', r"\"")


def number(value: float) -> str:
    """A number in the text format: integers without a fraction, so that bucket bounds compare as text."""
    if value in (inf, -inf):
        return "+Inf" if value > 0 else "-Inf"
    if value != value:
        return "NaN"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
