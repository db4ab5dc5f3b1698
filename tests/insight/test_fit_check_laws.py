"""`fits` is positive exactly where the engine of the cluster's manager would admit the job at once."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from engine.scenario import ScenarioRunner
from engine.scenario_strategies import scenarios
from engine.test_explain_laws import at_rest
from kohort.api.codec import from_json
from kohort.api.config.parsing import ParsingContext, parse_configuration
from kohort.api.core.namespaces import Namespace
from kohort.api.kinds import kind_of
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import WorkloadStatus
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import Reserve
from kohort.engine.events import ObjectUpserted
from kohort.engine.explain import WorkloadPhase, explanation_lines
from kohort.insight.fit_check.candidates import FitCandidate
from kohort.insight.fit_check.evaluation import evaluate_fit
from kohort.insight.listing import KindListing, ListedKind
from kohort.insight.manager_settings import ObservedSettings
from kohort.insight.snapshot import DECIDING, Snapshot
from kohort.insight.workload_report.builder import build_report

Json = Any
WORLDS = scenarios(most_steps=15)
EXAMPLES = 25
CONFIGURATION = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}


def look_at(runner: ScenarioRunner, scenario: Json) -> Snapshot:
    """The snapshot of the cluster of a scenario."""
    found: dict[ListedKind, dict[ObjectKey, Any]] = {kind: {} for kind in DECIDING}
    for step in (*({"put": each} for each in scenario["objects"]), *scenario["steps"]):
        if "put" in step:
            manifest = step["put"]
            found[kind_in(manifest)][key_of(manifest["metadata"])] = from_json(manifest, kind_in(manifest))
        elif "delete" in step:
            gone = next(kind for kind in DECIDING if kind.__name__ == step["delete"]["kind"])
            found[gone].pop(key_of(step["delete"]), None)
    found[Workload] = {ObjectKey(*key): each for key, each in runner.workloads.items()}
    return Snapshot(runner.now, {kind: KindListing(objects) for kind, objects in found.items()}, rules_in(scenario))


def kind_in(manifest: Json) -> type[Any]:
    kind = Namespace if manifest["kind"] == "Namespace" else kind_of(manifest["apiVersion"], manifest["kind"])
    assert kind is not None
    return kind


def key_of(head: Json) -> ObjectKey:
    return ObjectKey(head.get("namespace", ""), head["name"])


def rules_in(scenario: Json) -> ObservedSettings:
    text = {**CONFIGURATION, **scenario["configuration"], "featureGates": scenario["gates"]}
    result = parse_configuration(text, ParsingContext(namespace="kueue-system"))
    assert result.config is not None
    return ObservedSettings(result.config, result.gates)


def newcomer(runner: ScenarioRunner, data: st.DataObject) -> Workload | None:
    """A Workload like one that is there, that comes now."""
    known = [each for each in runner.workloads.values() if each.spec.queue_name]
    if not known:
        return None
    model = data.draw(st.sampled_from(known))
    head = structs.replace(model.metadata, name="new", uid="zzz", creation_timestamp=runner.now)
    return structs.replace(model, metadata=head, status=WorkloadStatus())


@given(WORLDS, st.data())
@settings(max_examples=EXAMPLES)
def test_fits_reports_exactly_what_the_next_cycle_does(scenario: Json, data: st.DataObject) -> None:
    runner = at_rest(scenario)
    thing = newcomer(runner, data)
    if thing is None:
        return
    queue = ObjectKey(thing.metadata.namespace, thing.spec.queue_name or "")
    (verdict,) = evaluate_fit(look_at(runner, scenario), [FitCandidate("workload/new", "f:1", queue, (thing,))])
    runner.engine.apply(ObjectUpserted(thing), runner.now)
    admitted = {each.workload for each in runner.engine.schedule(runner.now) if isinstance(each, Reserve)}
    assert verdict.explanation is not None
    assert verdict.starts == (ObjectKey(queue.namespace, "new") in admitted), explanation_lines(verdict.explanation)


@given(WORLDS)
@settings(max_examples=EXAMPLES)
def test_a_report_names_the_next_workload_only_where_the_next_run_admits_it(scenario: Json) -> None:
    """The engine of a snapshot has evaluated nothing yet: workloads inadmissible to the manager are heads to it."""
    runner = at_rest(scenario)
    snapshot = look_at(runner, scenario)
    for thing in snapshot.of(Workload).values():
        explanation = build_report(snapshot, thing, "it").explanation
        if (
            explanation.state in (WorkloadPhase.QUEUED, WorkloadPhase.INADMISSIBLE)
            and "goes next" in explanation_lines(explanation)[0]
        ):
            assert explanation.workload in snapshot.next_run.admitted
