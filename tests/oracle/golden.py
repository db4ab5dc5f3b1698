"""Runs the golden scenarios of the specification on Kueue too: `python -m oracle.golden`.

The tests run as usual; a plugin records their scenarios, runs them on Kueue and compares the results.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from engine import scenario_builders
from engine.scenario import ScenarioRunner
from kohort.engine.settings import EngineSettings
from oracle.differences import differences
from oracle.kueue import GoIsMissingError, Kueue
from oracle.workload_states import SCHEDULING_STEPS, WorkloadStates, workload_states

Json = Any
STEPS = ("put", "delete", "cycle", "schedule", "settle", "finish", "conflict", "wait")
FILES = ("tests/engine/test_golden_scheduling.py", "tests/engine/test_golden_fair_sharing.py")

DEVIATIONS = frozenset({"test_g45_mixed_modes_in_one_flavor[PreemptionOverBorrowing]"})
"""Tests in which Kueue's behavior is not the specified one (SCH-531)."""


class Recording:
    """The steps of one scenario runner, and the states of workloads after them."""

    def __init__(self, configuration: Json, gates: Json) -> None:
        self.scenario: Json = {"configuration": configuration, "gates": gates, "steps": []}
        self.answers: list[WorkloadStates | None] = []

    def add(self, runner: ScenarioRunner, step: str, argument: Json) -> None:
        self.scenario["steps"].append({step: argument})
        self.answers.append(workload_states(runner) if step in SCHEDULING_STEPS else None)


class RecordingPlugin:
    """Records the scenarios of every test and compares their results with Kueue's."""

    def __init__(self, kueue: Kueue) -> None:
        self.kueue = kueue
        self.configurations: list[tuple[EngineSettings, Json, Json]] = []
        self.recordings: dict[int, tuple[ScenarioRunner, Recording]] = {}
        self.agreed = 0
        self.differing: list[str] = []

    def install(self, patch: pytest.MonkeyPatch) -> None:
        configured = scenario_builders.configured

        def record(configuration: Json = None, **gates: bool) -> EngineSettings:
            settings = configured(configuration, **gates)
            self.configurations.append((settings, configuration or {}, gates))
            return settings

        for step in STEPS:
            patch.setattr(ScenarioRunner, step, self._recorded(step, getattr(ScenarioRunner, step)))
        for module in [
            module for name, module in sys.modules.items() if "golden" in name or name == "engine.scenario_builders"
        ]:
            if hasattr(module, "configured"):
                patch.setattr(module, "configured", record)

    def _recorded(self, step: str, action: Callable[..., Any]) -> Callable[..., Any]:
        def act(runner: ScenarioRunner, argument: Json = None) -> Any:
            result = action(runner, *([] if argument is None else [argument]))
            default: Json = 1 if step == "cycle" else {}
            self._recording_of(runner).add(runner, step, default if argument is None else argument)
            return result

        return act

    def _recording_of(self, runner: ScenarioRunner) -> Recording:
        if id(runner) not in self.recordings:
            found = [(text, gates) for settings, text, gates in self.configurations if settings is runner.settings]
            self.recordings[id(runner)] = (runner, Recording(*(found[0] if found else ({}, {}))))
        return self.recordings[id(runner)][1]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.recordings.clear()
        with pytest.MonkeyPatch.context() as patch:
            self.install(patch)
            result = yield
        for _, recording in list(self.recordings.values()) if item.name not in DEVIATIONS else ():
            self._compare(item.name, recording)
        return result

    def _compare(self, name: str, recording: Recording) -> None:
        answer = self.kueue.ask(recording.scenario)
        if "error" in answer:
            self.differing.append(f"{name}: {answer['error']}")
            return
        found = differences(recording.answers, answer["steps"])
        self.agreed += not found
        self.differing += [f"{name}: {each}" for each in found]


def main() -> int:
    with Kueue() as kueue:
        plugin = RecordingPlugin(kueue)
        result = pytest.main(["-q", "-p", "no:randomly", "-n0", *FILES], plugins=[plugin])
    print(*plugin.differing, sep="\n")
    print(f"{plugin.agreed} golden scenarios agree, {len(plugin.differing)} differ, {len(DEVIATIONS)} known deviation")
    return 1 if result != pytest.ExitCode.OK or plugin.differing or not plugin.agreed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except GoIsMissingError as error:
        sys.exit(f"make test-oracle: {error}")
