"""Scenarios on an engine that checks itself after every step."""

from typing import Any

from engine.invariants import CheckedEngine
from engine.scenario import ScenarioRunner
from engine.scenario_builders import ScenarioBuilder, configured
from kit.builders.core import make_namespace
from kohort.engine.settings import EngineSettings

Json = Any


def checked_runner(configuration: Json, **gates: bool) -> ScenarioRunner:
    """A runner without objects."""
    runner = ScenarioRunner(configured(configuration, **gates))
    runner.engine = CheckedEngine(runner.settings)
    return runner


def checked_scenario(scenario: Json) -> ScenarioRunner:
    """A runner with the objects of a scenario, before its first step."""
    runner = checked_runner(scenario["configuration"], **scenario["gates"])
    for manifest in scenario["objects"]:
        runner.put(manifest)
    return runner


def checked_builder(settings: EngineSettings | None = None) -> ScenarioBuilder:
    """A builder with namespace `ns`."""
    builder = ScenarioBuilder(settings)
    builder.engine = CheckedEngine(builder.settings)
    builder.put(make_namespace("ns"))
    return builder
