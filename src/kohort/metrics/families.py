"""Counters, gauges and histograms: a family is a name with labels, a series one set of their values.

Series lie under their owner (the queue or cohort that they speak of), so that dropping a deleted one costs nothing.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import inf
from typing import Final, Generic, TypeVar

Values = tuple[str, ...]
Value = TypeVar("Value")
Pairs = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class MetricScope:
    """Of what a family speaks: the labels that name it, which are reported, and what is said of each besides."""

    owner: Values = ()
    reports: Callable[[Values], bool] = lambda _: True
    adds: Callable[[Values], Pairs] = lambda _: ()


EVERYTHING: Final = MetricScope()


class LabelError(TypeError):
    """Somebody recorded a series with labels that its family does not have: an error of the program."""


class Family(Generic[Value]):
    """A metric with all its series; the labels of the scope's owner come first."""

    kind: str

    def __init__(self, name: str, help_text: str, labels: Values, scope: MetricScope = EVERYTHING) -> None:
        self.name = name
        self.help_text = help_text
        self.labels = scope.owner + labels
        self.scope = scope
        self._owners: dict[Values, dict[Values, Value]] = {}

    def forget(self, *owner: str) -> None:
        """Drop every series of an owner: the values of the scope's labels, in their order."""
        self._owners.pop(owner, None)

    def clear(self) -> None:
        """Drop every series."""
        self._owners.clear()

    def pages(self) -> Iterator[str]:
        """What there is to read now, owner by owner; whoever reads may let others go on in between."""
        for owner in sorted(self._owners):
            table = self._owners.get(owner)
            if table:
                extra = tuple(self.scope.adds(owner))
                yield "".join(self._text(self._label_text(owner + rest, extra), table[rest]) for rest in sorted(table))

    def _label_text(self, values: Values, extra: Pairs) -> str:
        pairs = sorted((*zip(self.labels, values, strict=True), *extra))
        return ",".join([f'{name}="{quoted(value)}"' for name, value in pairs])

    def _text(self, labels: str, value: Value) -> str:
        raise NotImplementedError

    def _series(self, labels: Mapping[str, str]) -> tuple[dict[Values, Value], Values] | None:
        """Where a series is kept: its owner's table and its key there; none if its owner is not reported."""
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
        """The value of a series, if there is one."""
        place = self._series(labels)
        return None if place is None else place[0].get(place[1])

    def _text(self, labels: str, value: float) -> str:
        return f"{self.name}{_braced(labels)} {number(value)}\n"


class Counter(_Number):
    """What only grows."""

    kind = "counter"

    def inc(self, by: float = 1, /, **labels: str) -> None:
        """So much more."""
        place = self._series(labels)
        if place is not None:
            table, key = place
            table[key] = table.get(key, 0) + by


class Gauge(_Number):
    """What goes up and down."""

    kind = "gauge"

    def set(self, value: float, /, **labels: str) -> None:
        """It is this now."""
        place = self._series(labels)
        if place is not None:
            place[0][place[1]] = value

    def remove(self, **labels: str) -> None:
        """There is no such series any more."""
        place = self._series(labels)
        if place is not None:
            place[0].pop(place[1], None)


class _Distribution:
    __slots__ = ("counts", "total")

    def __init__(self, buckets: int) -> None:
        self.counts = [0] * (buckets + 1)
        self.total = 0.0


class Histogram(Family[_Distribution]):
    """How values spread over buckets."""

    kind = "histogram"

    def __init__(
        self, name: str, help_text: str, labels: Values, buckets: tuple[float, ...], scope: MetricScope = EVERYTHING
    ) -> None:
        super().__init__(name, help_text, labels, scope)
        self.buckets = buckets
        self._bounds = [number(bound) for bound in (*buckets, inf)]

    def observe(self, value: float, /, **labels: str) -> None:
        """One more value."""
        place = self._series(labels)
        if place is None:
            return
        table, key = place
        if key not in table:
            table[key] = _Distribution(len(self.buckets))
        table[key].counts[bisect_left(self.buckets, value)] += 1
        table[key].total += value

    def count(self, **labels: str) -> int:
        """How many values a series has."""
        place = self._series(labels)
        return 0 if place is None or place[1] not in place[0] else sum(place[0][place[1]].counts)

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
    """Help as a page carries it."""
    return text.replace("\\", r"\\").replace("\n", r"\n")


def quoted(text: str) -> str:
    """A label's value as a page carries it."""
    return escaped(text).replace('"', r"\"")


def number(value: float) -> str:
    """A number as Prometheus writes it: whole ones without a fraction, so that bounds compare as text."""
    if value in (inf, -inf):
        return "+Inf" if value > 0 else "-Inf"
    if value != value:
        return "NaN"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
