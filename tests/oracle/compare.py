"""Both engines on random scenarios: `python -m oracle.compare --number 2000 --seed 1`.

A difference is shrunk, shown with both results and saved among the cases, which are tested from then on.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oracle.coverage import Coverage
from oracle.generator import has_circles
from oracle.kueue import GoIsMissingError, Kueue, NoResultError
from oracle.parallel_runs import DEVIATIONS, GENERATORS, compare, running_comparisons
from oracle.progress import Progress
from oracle.shrinking import shrink

Json = Any

FINE = frozenset({"same", "tied", "overdrawn", "unordered", *DEVIATIONS})
"""Outcomes that explain themselves."""
STOPPED = 130
"""What a shell expects of a program that Ctrl-C ended."""
CASES = Path(__file__).parent / "cases"


def is_different(kueue: Kueue, scenario: Json) -> bool:
    """Whether both returned a result, and not the same; a scenario without the objects that it is about is none."""
    try:
        return is_whole(scenario) and bool(compare(kueue, scenario))
    except (NoResultError, KeyError, LookupError):
        return False


def is_whole(scenario: Json) -> bool:
    """Whether every workload finds its queue and namespace when it comes."""
    if has_circles(scenario):
        return False
    there: set[tuple[str, str]] = set()
    for manifest in [*scenario["objects"], *(step["put"] for step in scenario["steps"] if "put" in step)]:
        there.add((manifest["kind"], manifest["metadata"]["name"]))
        if not set(_named(manifest)) <= there:
            return False
    return True


def _named(manifest: Json) -> Iterator[tuple[str, str]]:
    if manifest["kind"] == "Workload":
        yield "LocalQueue", manifest["spec"]["queueName"]
        yield "Namespace", manifest["metadata"]["namespace"]


def save(kueue: Kueue, name: str, scenario: Json) -> None:
    """Keep a scenario with its real result."""
    CASES.mkdir(exist_ok=True)
    case = {**scenario, "answer": kueue.ask(scenario)["steps"]}
    (CASES / f"{name}.json").write_text(json.dumps(case, indent=1) + "\n")


def main() -> int:
    arguments = _arguments()
    seeds = [f"{arguments.seed}-{arguments.first + index}" for index in range(arguments.number)]
    if arguments.coverage:
        coverage = Coverage()
        for seed in seeds:
            coverage.note(GENERATORS[arguments.about](seed))
        print(coverage.table())
        return 0
    counts: Counter[str] = Counter()
    try:
        _run(seeds, arguments, counts)
    except KeyboardInterrupt:
        print(f"stopped after {counts.total()} of {len(seeds)}: {dict(counts)}")
        return STOPPED
    print(dict(counts))
    return 0 if counts.keys() <= FINE else 1


def _run(seeds: list[str], arguments: argparse.Namespace, counts: Counter[str]) -> None:
    """Play all of them, and show what differs while others are still played."""
    progress = Progress(len(seeds), sys.stderr)
    with running_comparisons(arguments.about, seeds, arguments.jobs) as played:
        for each in played:
            counts[each.outcome] += 1
            if each.outcome == "different" and counts["different"] <= arguments.show:
                progress.clear()
                _show(arguments.about, each.seed, arguments.save)
            elif each.outcome != "same":
                progress.clear()
                print(f"seed {each.seed}: {each.outcome}", flush=True)
            progress.note(sum(counts[outcome] for outcome in counts.keys() - FINE))
    progress.clear()


def _show(about: str, seed: str, saves: bool) -> None:
    with Kueue() as kueue:
        small = shrink(GENERATORS[about](seed), lambda smaller: is_different(kueue, smaller))
        print(f"\n=== seed {seed}: {len(small['steps'])} steps, {len(small['objects'])} objects")
        print(json.dumps(small))
        print(*compare(kueue, small), sep="\n", flush=True)
        if saves:
            save(kueue, seed, small)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--about", choices=GENERATORS, default="quota", help="what the scenarios are about")
    parser.add_argument("--number", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="index of the first scenario, to run one or a part again")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=1, help="how many play at once, each with a Kueue beside it")
    parser.add_argument("--show", type=int, default=5, help="how many differences to shrink and print")
    parser.add_argument("--save", action="store_true", help="keep the printed ones among the cases")
    parser.add_argument("--coverage", action="store_true", help="only print what the scenarios contain; needs no Go")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except GoIsMissingError as error:
        sys.exit(f"make test-oracle: {error}")
