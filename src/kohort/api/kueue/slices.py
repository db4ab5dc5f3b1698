"""Encodes topology assignments as slices, and decodes them (API-74, TAS-69 to TAS-74).

One slice has all domains; per level a single value if all agree, else the parts that differ. Hosts can also be encoded
as runs with a common prefix, which is shorter where names of several pools are mixed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from kohort.api.codec import encode
from kohort.api.core.nodes import HOSTNAME
from kohort.api.errors import ConversionError
from kohort.api.kueue.v1beta2.workload import (
    IndividualValues,
    LevelValues,
    PodCounts,
    TopologyAssignment,
    TopologySlice,
)

MAX_DOMAINS_PER_SLICE = 100_000
MAX_SLICES = 1000
MAX_DOMAINS = 1_000_000
"""Maximum number of domains of an assignment; a few bytes could otherwise expand to billions."""


class Domain(NamedTuple):
    """A domain and its number of pods."""

    values: tuple[str, ...]
    """Names, one per level, the widest first."""
    pods: int


def compress(levels: Sequence[str], domains: Sequence[Domain]) -> TopologyAssignment:
    """The assignment of these domains in this order, as one slice (TAS-72)."""
    return _assignment(levels, domains, [domains])


def compress_by_prefix(levels: Sequence[str], domains: Sequence[Domain]) -> TopologyAssignment:
    """The same, as runs of hosts with a common prefix if that is no longer (TAS-73)."""
    single = compress(levels, domains)
    if not levels or levels[-1] != HOSTNAME or len(domains) < 2:
        return single
    by_prefix = _assignment(levels, domains, _prefix_runs(domains))
    if len(by_prefix.slices) <= 1 or len(single.slices) > 1:
        return by_prefix
    return single if len(encode(single)) < len(encode(by_prefix)) else by_prefix


def _assignment(
    levels: Sequence[str], domains: Sequence[Domain], runs: Sequence[Sequence[Domain]]
) -> TopologyAssignment:
    if any(len(domain.values) != len(levels) for domain in domains):
        raise ConversionError(f"every topology domain needs one value for each of the {len(levels)} levels")
    chunks = [
        run[start : start + MAX_DOMAINS_PER_SLICE]
        for run in runs
        for start in range(0, len(run), MAX_DOMAINS_PER_SLICE)
    ]
    return TopologyAssignment(levels=tuple(levels), slices=tuple(_slice(len(levels), chunk) for chunk in chunks))


def _prefix_runs(domains: Sequence[Domain]) -> list[Sequence[Domain]]:
    """Consecutive domains with the same prefix: as long ones as the number of slices allows (TAS-73)."""
    prefixes = [_prefixes(domain.values[-1]) for domain in domains]
    frequency = Counter([prefix for each in prefixes for prefix in each])
    for depth in range(max([len(each) for each in prefixes]), 0, -1):
        keys = [next((prefix for prefix in reversed(each[:depth]) if frequency[prefix] > 1), "") for each in prefixes]
        runs = [
            [domain for _, domain in run] for _, run in groupby(zip(keys, domains, strict=True), lambda pair: pair[0])
        ]
        if sum([-(-len(run) // MAX_DOMAINS_PER_SLICE) for run in runs]) <= MAX_SLICES:
            return [*runs]
    return [domains]


def _prefixes(name: str) -> list[str]:
    """The proper prefixes that end in a dash, shortest first."""
    return [name[: end + 1] for end in range(len(name) - 1) if name[end] == "-"]


def _slice(level_count: int, domains: Sequence[Domain]) -> TopologySlice:
    counts = [domain.pods for domain in domains]
    return TopologySlice(
        domain_count=len(domains),
        values_per_level=tuple(_level([d.values[level] for d in domains]) for level in range(level_count)),
        pod_counts=PodCounts(universal=counts[0]) if len(set(counts)) == 1 else PodCounts(individual=tuple(counts)),
    )


def _level(values: list[str]) -> LevelValues:
    if len(set(values)) == 1:
        return LevelValues(universal=values[0])
    shortest = min([len(value) for value in values])
    suffix = _common_start([value[::-1] for value in values])[::-1]
    prefix = _common_start(values)[: shortest - len(suffix)]
    roots = tuple([value[len(prefix) : len(value) - len(suffix)] for value in values])
    return LevelValues(individual=IndividualValues(roots=roots, prefix=prefix or None, suffix=suffix or None))


def _common_start(texts: list[str]) -> str:
    """The common prefix of all texts, which is that of the least and the greatest."""
    least, greatest = min(texts), max(texts)
    same = next((index for index, letter in enumerate(least) if letter != greatest[index]), len(least))
    return least[:same]


def expand(assignment: TopologyAssignment) -> Iterator[Domain]:
    """The domains of an assignment, in order; accepts all valid encodings."""
    total = sum(part.domain_count for part in assignment.slices)
    if total > MAX_DOMAINS:
        raise ConversionError(f"the topology assignment has {total} domains; at most {MAX_DOMAINS} can be expanded")
    for part in assignment.slices:
        names = [_expanded(values, part.domain_count) for values in part.values_per_level]
        counts = part.pod_counts.individual or (part.pod_counts.universal or 0,) * part.domain_count
        if any(len(column) != part.domain_count for column in (*names, counts)):
            raise ConversionError(f"a topology slice of {part.domain_count} domains has another number of values")
        for *values, pods in zip(*names, counts, strict=True):
            yield Domain(tuple(values), pods)


def _expanded(values: LevelValues, count: int) -> Sequence[str]:
    if values.individual is None:
        return (values.universal or "",) * count
    prefix, suffix = values.individual.prefix or "", values.individual.suffix or ""
    return [f"{prefix}{root}{suffix}" for root in values.individual.roots]
