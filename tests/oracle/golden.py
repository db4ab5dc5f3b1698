"""The golden scenarios of the specification, asked of the real Kueue too: `python -m oracle.golden`.

The tests play as they always do; what they play is noted down, put to the real one and compared.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from engine import scenario_builders as play
from engine.scenario import ScenarioRunner
from kohort.engine.settings import EngineSettings
from oracle.differences import differences
from oracle.kueue import GoIsMissingError, Kueue
from oracle.standings import TURNS, Standings, standings

Json = Any
STEPS = ("put", "delete", "cycle", "schedule", "settle", "finish", "conflict", "wait")
FILES = ("tests/engine/test_golden_scheduling.py", "tests/engine/test_golden_fair_sharing.py")

QUIRKS = frozenset({"test_g45_mixed_modes_in_one_flavor[PreemptionOverBorrowing]"})
"""Where the specification says not to follow the real one (SCH-531)."""


class Notes:
    """What one stage played, and how workloads stood."""

    def __init__(self, configuration: Json, gates: Json) -> None:
        self.scenario: Json = {"configuration": configuration, "gates": gates, "steps": []}
        self.answers: list[Standings | None] = []

    def note(self, stage: ScenarioRunner, step: str, argument: Json) -> None:
        self.scenario["steps"].append({step: argument})
        self.answers.append(standings(stage) if step in TURNS else None)


class Scribe:
    """A plugin that notes down every play of every test and compares it."""

    def __init__(self, kueue: Kueue) -> None:
        self.kueue = kueue
        self.texts: list[tuple[EngineSettings, Json, Json]] = []
        self.notes: dict[int, tuple[ScenarioRunner, Notes]] = {}
        self.agreed = 0
        self.differing: list[str] = []

    def install(self, patch: pytest.MonkeyPatch) -> None:
        configured = play.configured

        def keep(configuration: Json = None, **gates: bool) -> EngineSettings:
            settings = configured(configuration, **gates)
            self.texts.append((settings, configuration or {}, gates))
            return settings

        for step in STEPS:
            patch.setattr(ScenarioRunner, step, self._noting(step, getattr(ScenarioRunner, step)))
        for module in [
            module for name, module in sys.modules.items() if "golden" in name or name == "engine.scenario_builders"
        ]:
            if hasattr(module, "configured"):
                patch.setattr(module, "configured", keep)

    def _noting(self, step: str, action: Callable[..., Any]) -> Callable[..., Any]:
        def act(stage: ScenarioRunner, argument: Json = None) -> Any:
            result = action(stage, *([] if argument is None else [argument]))
            default: Json = 1 if step == "cycle" else {}
            self._notes_of(stage).note(stage, step, default if argument is None else argument)
            return result

        return act

    def _notes_of(self, stage: ScenarioRunner) -> Notes:
        if id(stage) not in self.notes:
            texts = [(text, gates) for settings, text, gates in self.texts if settings is stage.settings]
            self.notes[id(stage)] = (stage, Notes(*(texts[0] if texts else ({}, {}))))
        return self.notes[id(stage)][1]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.notes.clear()
        with pytest.MonkeyPatch.context() as patch:
            self.install(patch)
            result = yield
        for _, notes in list(self.notes.values()) if item.name not in QUIRKS else ():
            self._compare(item.name, notes)
        return result

    def _compare(self, name: str, notes: Notes) -> None:
        answer = self.kueue.ask(notes.scenario)
        if "error" in answer:
            self.differing.append(f"{name}: {answer['error']}")
            return
        found = differences(notes.answers, answer["steps"])
        self.agreed += not found
        self.differing += [f"{name}: {each}" for each in found]


def main() -> int:
    with Kueue() as kueue:
        scribe = Scribe(kueue)
        played = pytest.main(["-q", "-p", "no:randomly", "-n0", *FILES], plugins=[scribe])
    print(*scribe.differing, sep="\n")
    print(f"{scribe.agreed} golden plays agree, {len(scribe.differing)} differences, {len(QUIRKS)} known quirk")
    return 1 if played != pytest.ExitCode.OK or scribe.differing or not scribe.agreed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except GoIsMissingError as error:
        sys.exit(f"make test-oracle: {error}")
