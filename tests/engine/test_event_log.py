"""A recorded run replays to the same decisions, and a damaged log is reported with the number of the line."""

from dataclasses import fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.scenario import DAWN, ScenarioRunner
from engine.scenario_builders import ScenarioBuilder, configured
from engine.scenario_strategies import scenarios
from kohort.api.core.namespaces import LimitRange, Namespace
from kohort.api.core.nodes import RuntimeClass
from kohort.api.errors import DocumentError
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue import v1beta2
from kohort.api.meta import ObjectKey, ObjectMeta
from kohort.engine.admission_fair_sharing import HistoryRules
from kohort.engine.cycle import CycleRules
from kohort.engine.decisions import (
    Decision,
    Evict,
    EvictForFailedNodes,
    KeepPending,
    KeepUnplaced,
    Migrate,
    RequeueReason,
    Reserve,
)
from kohort.engine.engine import Engine
from kohort.engine.event_log import (
    EventApplied,
    LoggedDecision,
    Recorder,
    ScheduleCall,
    ScheduleMode,
    compress_lines,
    decompress_lines,
    read_decisions,
    read_events,
    replay,
)
from kohort.engine.event_log.header import VERSION, decisions_header, events_header, settings_of
from kohort.engine.events import (
    DeviceClaimsCounted,
    EngineEvent,
    EvictionFailed,
    ObjectDeleted,
    ObjectUpserted,
    ReservationFailed,
)
from kohort.engine.fair_preemption import FairRules
from kohort.engine.flavor_assigner import FlavorRules
from kohort.engine.requests.rules import RequestRules, Transformation
from kohort.engine.settings import EngineSettings
from kohort.engine.tournament import TournamentRules

Json = Any
HEADER = events_header(EngineSettings())
TURN = b'{"do":"turn","t":"2026-01-01T00:00:00Z","turn":"schedule"}\n'
W = ObjectKey("ns", "w")


names = st.sampled_from(["cpu", "memory", "example.com/gpu"])
transformations = st.builds(
    Transformation, st.dictionaries(names, st.integers(-(2**80), 2**80)), names | st.just(""), keeps_input=st.booleans()
)
settings_strategy = st.builds(
    EngineSettings,
    gates=st.builds(FeatureGates, st.frozensets(st.sampled_from(Gate))),
    cycle=st.builds(
        CycleRules,
        assigning=st.builds(FlavorRules, st.booleans(), st.booleans(), st.booleans()),
        tournament=st.none() | st.builds(TournamentRules, st.booleans(), st.booleans(), st.booleans()),
        by_priority=st.booleans(),
        preemptors_first=st.booleans(),
        recomputes_on_overlap=st.booleans(),
        allows_partial=st.booleans(),
        keeps_progress=st.booleans(),
        honours_gates=st.booleans(),
        fails_fast=st.booleans(),
    ),
    fair=st.none() | st.builds(FairRules, st.tuples(st.text()), st.booleans()),
    requests=st.builds(RequestRules, st.tuples(st.text()), st.dictionaries(names, transformations)),
    waits_for_pods=st.booleans(),
    eviction_timestamps=st.booleans(),
    history=st.none()
    | st.builds(
        HistoryRules,
        st.integers(0, 2**63 - 1),
        st.integers(0, 2**63 - 1),
        st.dictionaries(names, st.floats(0, allow_nan=False, allow_infinity=False)),
    ),
)


class RecordingEngine:
    """An engine under record, and what was written."""

    def __init__(self, rules: EngineSettings | None = None, engine: Engine | None = None) -> None:
        self.events: list[bytes] = []
        self.decisions: list[bytes] = []
        self.recorder = Recorder(engine or Engine(rules), self.events.append, self.decisions.append)


def recorded(scenario: Json) -> RecordingEngine:
    rules = configured(scenario["configuration"], **scenario["gates"])
    tape = RecordingEngine(rules)
    runner = ScenarioRunner(rules)
    runner.engine = tape.recorder  # type: ignore[assignment]
    runner.play(scenario)
    return tape


@given(scenarios(), st.sampled_from(["run.jsonl", "run.jsonl.gz"]))
@settings(max_examples=30)
def test_a_recorded_run_replays_to_the_same_decisions_byte_for_byte(scenario: Json, file: str) -> None:
    """By itself: the log brings its settings along."""
    tape = recorded(scenario)
    log = read_events(decompress_lines(compress_lines(tape.events, file), file), file)
    assert log.warning == ""
    assert replay(log) == tape.decisions
    again = RecordingEngine(log.settings)
    for step in log.entries:
        again.recorder.take(step)
    assert again.events == tape.events


class TestEveryStep:
    """What is written to a log is read from it."""

    @pytest.mark.parametrize(
        "event",
        [
            *(
                ObjectUpserted(kind(metadata=ObjectMeta(name="x", labels={"a": "b"})))
                for kind in (Namespace, LimitRange)
            ),
            ObjectUpserted(RuntimeClass(metadata=ObjectMeta(name="x"))),
            *(
                ObjectUpserted(kind(metadata=ObjectMeta(name="x", generation=3)))
                for kind in (v1beta2.AdmissionCheck, v1beta2.ClusterQueue, v1beta2.Cohort, v1beta2.LocalQueue)
            ),
            ObjectUpserted(v1beta2.ResourceFlavor(metadata=ObjectMeta(name="x"))),
            ObjectUpserted(v1beta2.Workload(metadata=ObjectMeta(name="x", namespace="ns"))),
            ObjectDeleted("Cohort", ObjectKey("", "x")),
            DeviceClaimsCounted(W, (("main", (("example.com/gpu", 2),)),)),
            ReservationFailed(W),
            EvictionFailed(W),
        ],
        ids=lambda event: type(getattr(event, "object", event)).__name__,
    )
    def test_events(self, event: EngineEvent) -> None:
        tape = RecordingEngine(engine=StubEngine())
        tape.recorder.apply(event, DAWN)
        (entry,) = read_events(tape.events).entries
        assert isinstance(entry, EventApplied)
        assert entry.at == DAWN
        if isinstance(event, ObjectUpserted):
            assert isinstance(entry.event, ObjectUpserted)
            assert type(entry.event.object) is type(event.object)
            assert entry.event.object.metadata == event.object.metadata
        else:
            assert entry.event == event

    def test_runs_to_the_microsecond(self) -> None:
        tape = RecordingEngine()
        late = DAWN + timedelta(microseconds=1)
        tape.recorder.schedule(DAWN)
        tape.recorder.run_cycle(late)
        assert read_events(tape.events).entries == (
            ScheduleCall(DAWN, ScheduleMode.SCHEDULE),
            ScheduleCall(late, ScheduleMode.CYCLE),
        )

    def test_decisions(self) -> None:
        builder = ScenarioBuilder()
        builder.queue("q", 4)
        builder.submit("w", 2)
        (reserve,) = builder.turn().decisions
        assert isinstance(reserve, Reserve)
        decisions: list[Decision] = [
            replace(reserve, considered="f(Fit;borrow=1)", borrow=1),
            replace(reserve, replaces=ObjectKey("ns", "older")),
            Evict(W, "InClusterQueue", ObjectKey("ns", "p"), "/R/q", "/R/b"),
            Migrate(W, ObjectKey("ns", "v")),
            EvictForFailedNodes(W, ("n1", "n2")),
            KeepUnplaced(W, "no node has capacity"),
            KeepPending(W, "WaitingForQuota", "2 more needed", RequeueReason.NO_FIT),
            KeepPending(W, "PendingEvaluation", "", RequeueReason.GENERIC),
        ]
        tape = RecordingEngine(engine=StubEngine(decisions))
        tape.recorder.schedule(DAWN)
        assert read_decisions(tape.decisions).entries == tuple(LoggedDecision(DAWN, 1, each) for each in decisions)

    def test_a_template_written_on_several_lines_takes_one(self) -> None:
        template = msgspec.Raw(b'{\n  "spec": {\n    "containers": []\n  }\n}')
        pod_set = v1beta2.workload.PodSet(template=template)
        tape = RecordingEngine(engine=StubEngine())
        tape.recorder.apply(
            ObjectUpserted(v1beta2.Workload(spec=v1beta2.workload.WorkloadSpec(pod_sets=(pod_set,)))), DAWN
        )
        assert [line.count(b"\n") for line in tape.events] == [1, 1]


class StubEngine(Engine):
    """An engine that receives no events and returns given decisions."""

    def __init__(self, decisions: list[Decision] | None = None) -> None:
        super().__init__()
        self.decisions = decisions or []

    def apply(self, event: EngineEvent, now: datetime) -> None:
        pass

    def schedule(self, now: datetime) -> list[Decision]:
        return self.decisions


class FailingEngine(Engine):
    def apply(self, event: EngineEvent, now: datetime) -> None:
        raise ZeroDivisionError


def test_an_event_on_which_the_engine_breaks_is_in_the_log() -> None:
    tape = RecordingEngine(engine=FailingEngine())
    with pytest.raises(ZeroDivisionError):
        tape.recorder.apply(ReservationFailed(W), DAWN)
    assert read_events(tape.events).entries == (EventApplied(DAWN, ReservationFailed(W)),)


def test_a_log_survives_its_file(tmp_path: Path) -> None:
    for name in ("log.jsonl", "log.jsonl.gz"):
        file = tmp_path / name
        file.write_bytes(compress_lines([HEADER, TURN], name))
        assert decompress_lines(file.read_bytes(), name) == [HEADER, TURN]


def test_a_compressed_log_may_be_written_in_several_parts() -> None:
    content = compress_lines([HEADER], "log.gz") + compress_lines([TURN, TURN], "log.gz")
    assert decompress_lines(content, "log.gz") == [HEADER, TURN, TURN]


class TestTruncatedLog:
    """The last line may break off anywhere."""

    @given(st.integers(1, len(TURN) - 2))
    def test_all_but_the_last_line_is_there(self, cut: int) -> None:
        log = read_events([HEADER, TURN, TURN[:cut]], "run.jsonl")
        assert len(log.entries) == 1
        assert "run.jsonl:3" in log.warning

    def test_only_the_end_of_the_line_is_missing(self) -> None:
        log = read_events([HEADER, TURN.rstrip()])
        assert (len(log.entries), log.warning) == (1, "")

    def test_without_its_whole_header_a_log_is_of_no_use(self) -> None:
        with pytest.raises(DocumentError, match=r"^run\.jsonl:1: not valid JSON"):
            read_events([HEADER[:9]], "run.jsonl")

    @given(st.integers(20, 200))
    def test_a_compressed_file_breaks_off(self, cut: int) -> None:
        steps = [TURN.replace(b"00Z", b"%02dZ" % second) for second in range(50)]
        content = compress_lines([HEADER, *steps], "log.gz")
        lines = decompress_lines(content[:cut], "log.gz")
        assert b"".join([HEADER, *steps]).startswith(b"".join(lines))

    def test_a_line_that_breaks_off_before_another_is_damage(self) -> None:
        with pytest.raises(DocumentError, match="log:2: "):
            read_events([HEADER, TURN[:20], TURN], "log")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{oops}\n", "not valid JSON"),
        (b"\n", "not valid JSON"),
        (b'{"do":"sing","t":"2026-01-01T00:00:00Z"}\n', "Invalid value 'sing'"),
        (b'{"do":"turn","t":"2026-01-01T00:00:00Z"}\n', "missing required field `turn`"),
        (b'{"do":"turn","t":"2026-01-01T00:00:00","turn":"cycle"}\n', "timezone"),
        (b'{"do":"turn","t":"2026-01-01T00:00:00Z","turn":"cycle","x":1}\n', "unknown field `x`"),
        (b'{"do":"gone","t":"2026-01-01T00:00:00Z","kind":"Cohort","key":["a"]}\n', "length 2"),
        (b'{"do":"put","t":"2026-01-01T00:00:00Z","object":{"kind":"Cohort"}}\n', "apiVersion"),
        (
            b'{"do":"put","t":"2026-01-01T00:00:00Z","object":{"apiVersion":"v1","kind":"Pod"}}\n',
            "unsupported object v1 Pod; supported: AdmissionCheck, ClusterQueue",
        ),
        (
            b'{"do":"put","t":"2026-01-01T00:00:00Z","object":{"apiVersion":"v1","kind":"Namespace","metadata":3}}\n',
            "metadata",
        ),
    ],
)
def test_a_damaged_line_is_named_with_its_file_and_number(line: bytes, problem: str) -> None:
    with pytest.raises(DocumentError, match=r"run\.jsonl:3: ") as caught:
        read_events([HEADER, TURN, line, TURN], "run.jsonl")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([], "empty"),
        ([TURN], "missing required field `log`"),
        ([decisions_header()], "not of kohort-events"),
        ([b'{"log":"kohort-events","version":%d}\n' % VERSION], "missing required field `settings`"),
        ([HEADER.replace(b'"PartialAdmission"', b'"Telepathy"')], "unknown feature gates: Telepathy"),
    ],
)
def test_a_log_must_begin_with_its_header(lines: list[bytes], problem: str) -> None:
    with pytest.raises(DocumentError, match=problem):
        read_events(lines)


@pytest.mark.parametrize("version", [1, VERSION + 1])
@pytest.mark.parametrize(("read", "log"), [(read_events, "kohort-events"), (read_decisions, "kohort-decisions")])
def test_a_log_of_another_version_is_reported_in_one_line(read: Any, log: str, version: int) -> None:
    header = msgspec.json.encode({"log": log, "version": version, "moods": ["from a later release"]})
    with pytest.raises(DocumentError) as caught:
        read([header + b"\n", TURN], "run.jsonl")
    assert str(caught.value) == (
        f"run.jsonl:1: version {version} of the log can't be read, only version {VERSION}: record it again, or read it"
        " with the release of Kohort that wrote it"
    )


class TestSettings:
    """A log replays by itself, independently of the defaults of the release that reads it."""

    def test_all_of_them_are_in_the_header(self) -> None:
        """A change of the contents of this line raises the version of the log."""
        few = EngineSettings(FeatureGates(frozenset({Gate.PartialAdmission})))
        assert VERSION == 4
        assert events_header(few) == (
            b'{"log":"kohort-events","version":4,"settings":{"gates":["PartialAdmission"],"cycle":{"assigning":'
            b'{"uses_fungibility":true,"ignores_undeclared":false,"preempts_by_share":false},"tournament":null,'
            b'"by_priority":true,"preemptors_first":false,"recomputes_on_overlap":true,"allows_partial":true,'
            b'"keeps_progress":true,"honours_gates":false,"fails_fast":true,"places_again":true,"groups_hostnames":true},"fair":null,"requests":{"excluded":[],'
            b'"transformations":{}},"waitsForPods":false,"evictionTimestamps":true,"history":null}}\n'
        )

    @given(settings_strategy)
    def test_they_come_out_as_they_went_in(self, rules: EngineSettings) -> None:
        line = events_header(rules)
        found = settings_of(line)
        assert events_header(found) == line
        for each in fields(EngineSettings):
            if each.name != "requests":
                assert getattr(found, each.name) == getattr(rules, each.name)
        assert found.requests.excluded == rules.requests.excluded
        assert found.requests.transformations == rules.requests.transformations

    def test_logs_of_decisions_under_different_settings_begin_alike(self) -> None:
        plain, fair = RecordingEngine(EngineSettings()), RecordingEngine(EngineSettings(fair=FairRules()))
        assert plain.decisions == fair.decisions
        assert plain.events != fair.events

    def test_a_factor_must_be_a_number(self) -> None:
        by = Transformation({"x": 7}, "", keeps_input=True)
        line = events_header(EngineSettings(requests=RequestRules((), {"a": by})))
        with pytest.raises(DocumentError, match="factors must be whole numbers"):
            read_events([line.replace(b'"7"', b'"seven"')])


def test_a_file_that_is_no_gzip_is_refused_by_name() -> None:
    with pytest.raises(DocumentError, match=r"^run\.gz: not compressed by gzip"):
        decompress_lines(HEADER, "run.gz")
