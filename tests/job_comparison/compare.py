"""Both managers on the same objects: `python -m job_comparison.compare --number 30 --seed 1`.

Every object is created on both clusters, and some are changed once they are queued. Both must accept or refuse a write,
and the objects must be the same in the end: the jobs as the webhooks left them, their pods, and their Workloads.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from cluster.go_builds import BuildError
from job_comparison.cases import Case
from job_comparison.deviations import Difference, ObjectDifference, WriteDifference, unexplained
from job_comparison.generator import KINDS, random_cases
from job_comparison.managers import running_kohort, running_kueue
from job_comparison.observations import ObservedCluster
from kit.masks import masked_differences
from oracle.kueue import GoIsMissingError

Json = Any

PAUSE: Final = 2.0
QUIET: Final = 5.0
"""Seconds without a change after which both managers are done."""
LONG_QUIET: Final = 20.0
"""The same while something differs that no rule explains: one of them may be slow."""
PATIENCE: Final = 300.0


class Comparison:
    """Two clusters, and where they differ."""

    def __init__(self, kueue: ObservedCluster, kohort: ObservedCluster, cases: Sequence[Case]) -> None:
        self._kueue = kueue
        self._kohort = kohort
        self._cases = cases

    def run(self) -> dict[str, list[Difference]]:
        """The differences of each case."""
        for case in self._cases:
            self._kueue.create(case)
            self._kohort.create(case)
        found = self._settled_differences()
        changed = [case for case in self._cases if case.change and case.name not in found and self._exists(case)]
        for case in changed:
            self._kueue.change(case)
            self._kohort.change(case)
        later = self._settled_differences() if changed else {}
        return {case.name: found.get(case.name) or later.get(case.name) or [] for case in self._cases}

    def _exists(self, case: Case) -> bool:
        return self._kueue.is_accepted(case) and self._kohort.is_accepted(case)

    def _settled_differences(self) -> dict[str, list[Difference]]:
        """The differences when both clusters have been quiet for a while."""
        deadline, quiet_since, before = time.monotonic() + PATIENCE, time.monotonic(), None
        while True:
            states = self._kueue.objects(), self._kohort.objects()
            found = self._differences(*states)
            now = time.monotonic()
            if states != before:
                quiet_since, before = now, states
            patience = LONG_QUIET if self._has_unexplained(found) else QUIET
            if now - quiet_since >= patience or now >= deadline:
                return found
            time.sleep(PAUSE)

    def _has_unexplained(self, found: Mapping[str, list[Difference]]) -> bool:
        return any(unexplained(case, found.get(case.name, [])) for case in self._cases)

    def _differences(self, kueue: Mapping[str, Json], kohort: Mapping[str, Json]) -> dict[str, list[Difference]]:
        found: dict[str, list[Difference]] = {
            case.name: [*self._response_differences(case), *object_differences(kueue[case.name], kohort[case.name])]
            for case in self._cases
        }
        return {name: lines for name, lines in found.items() if lines}

    def _response_differences(self, case: Case) -> Iterator[WriteDifference]:
        pairs = zip(self._kueue.responses[case.name], self._kohort.responses[case.name], strict=True)
        for theirs, ours in pairs:
            # Some messages of Kueue name no field.
            if theirs.code != ours.code or (theirs.fields and theirs.fields != ours.fields):
                yield WriteDifference(theirs, ours)

    def is_refused(self, case: Case) -> bool:
        """Whether Kueue refused an object."""
        return not self._kueue.is_accepted(case)

    def has_workload(self, case: Case, kueue: Mapping[str, Json]) -> bool:
        """Whether Kueue created a Workload."""
        return any(title.startswith("Workload ") for title in kueue[case.name])


def object_differences(kueue: Mapping[str, Json], kohort: Mapping[str, Json]) -> Iterator[ObjectDifference]:
    """Where the objects of a case differ; Kueue's value comes first."""
    for title in sorted({*kueue, *kohort}):
        if title not in kueue or title not in kohort:
            yield ObjectDifference(title, f"only with {'Kueue' if title in kueue else 'Kohort'}")
        else:
            yield from (ObjectDifference(title, each) for each in masked_differences(kueue[title], kohort[title]))


def main() -> int:
    arguments = _arguments()
    numbers = range(arguments.first, arguments.first + arguments.number)
    cases = list(random_cases(arguments.seed, arguments.kinds, numbers))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kohort-jobs-")))
        folders = [folder / name for name in ("kueue", "kohort")]
        for each in folders:
            each.mkdir()
        kueue = ObservedCluster(stack.enter_context(running_kueue(folders[0])))
        kohort = ObservedCluster(stack.enter_context(running_kohort(folders[1])))
        comparison = Comparison(kueue, kohort, cases)
        return report(comparison, cases, comparison.run(), kueue.objects())


def report(
    comparison: Comparison,
    cases: Sequence[Case],
    differences: Mapping[str, list[Difference]],
    kueue: Mapping[str, Json],
) -> int:
    """Print every difference that no deviation explains, and the counts of each kind."""
    counts: dict[str, Counter[str]] = {case.kind: Counter() for case in cases}
    for case in cases:
        found = unexplained(case, differences[case.name])
        outcome = "different" if found else "deviates" if differences[case.name] else "equal"
        counts[case.kind] += Counter((outcome, "refused" if comparison.is_refused(case) else "accepted"))
        counts[case.kind]["with Workload"] += comparison.has_workload(case, kueue)
        if found:
            print(f"\n=== {case.name}: {case.kind} {case.objects}, change {case.change}")
            print(*found, sep="\n")
    for kind, count in counts.items():
        print(f"{kind}: {', '.join(f'{number} {outcome}' for outcome, number in sorted(count.items()))}")
    return int(any(count["different"] for count in counts.values()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=30, help="objects of each kind")
    parser.add_argument("--first", type=int, default=0, help="number of the first one, to run one or a part again")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (GoIsMissingError, BuildError) as error:
        sys.exit(f"make test-kinds: {error}")
