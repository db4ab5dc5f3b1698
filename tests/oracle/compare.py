"""Both engines on random scenarios: `python -m oracle.compare --number 2000 --seed 1`.

A difference is shrunk, shown with both answers and saved among the cases, which are tested ever after.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oracle.coverage import Coverage
from oracle.differences import Difference, differences
from oracle.generator import has_circles
from oracle.generator import scenario as generate
from oracle.kueue import GoIsMissingError, Kueue, NoAnswerError
from oracle.shrinking import shrink
from oracle.standings import our_answer

Json = Any

CASES = Path(__file__).parent / "cases"


def compare(kueue: Kueue, scenario: Json) -> list[Difference]:
    """Where the two differ after the first step that shows it."""
    answer = kueue.ask(scenario)
    if "error" in answer:
        raise NoAnswerError(answer["error"])
    return differences(our_answer(scenario), answer["steps"])


def is_different(kueue: Kueue, scenario: Json) -> bool:
    """Whether both answer, and not the same; a scenario that lost what it speaks of is none."""
    try:
        return is_whole(scenario) and bool(compare(kueue, scenario))
    except (NoAnswerError, KeyError, LookupError):
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
    """Keep a scenario with the real answer to it."""
    CASES.mkdir(exist_ok=True)
    case = {**scenario, "answer": kueue.ask(scenario)["steps"]}
    (CASES / f"{name}.json").write_text(json.dumps(case, indent=1) + "\n")


def main() -> int:
    arguments = _arguments()
    if arguments.coverage:
        coverage = Coverage()
        for index in range(arguments.number):
            coverage.note(generate(f"{arguments.seed}-{index}"))
        print(coverage.table())
        return 0
    counts: Counter[str] = Counter()
    with Kueue() as kueue:
        for index in range(arguments.number):
            seed = f"{arguments.seed}-{index}"
            scenario = generate(seed)
            try:
                found = compare(kueue, scenario)
            except NoAnswerError as error:
                counts[f"no answer: {error}"] += 1
                continue
            counts["different" if found else "same"] += 1
            if found and counts["different"] <= arguments.show:
                _show(kueue, seed, scenario, arguments.save)
    print(dict(counts))
    return 1 if counts["different"] else 0


def _show(kueue: Kueue, seed: str, scenario: Json, saves: bool) -> None:
    small = shrink(scenario, lambda smaller: is_different(kueue, smaller))
    print(f"\n=== seed {seed}: {len(small['steps'])} steps, {len(small['objects'])} objects")
    print(json.dumps(small))
    for each in compare(kueue, small):
        print(each)
    if saves:
        save(kueue, seed, small)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=2000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--show", type=int, default=5, help="how many differences to shrink and print")
    parser.add_argument("--save", action="store_true", help="keep the printed ones among the cases")
    parser.add_argument("--coverage", action="store_true", help="only tell what the scenarios hold; needs no Go")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except GoIsMissingError as error:
        sys.exit(f"make test-oracle: {error}")
