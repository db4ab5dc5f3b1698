from dataclasses import dataclass
from pathlib import Path as FilePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.golden.recordings import api_recording
from kohort.api.config.parsing import ParsingContext, parse_configuration
from kohort.api.fields import ErrorKind, FieldError, Path
from kohort.api.gates import (
    DEFAULT_GATES,
    GRADUATED,
    WHOLE_STAGES,
    WITHOUT_EFFECT,
    Gate,
    ResolvedGates,
    Stage,
    from_settings,
    parse_flag,
)

SPEC = FilePath(__file__).parents[2] / "docs" / "spec" / "api-config-metrics.md"
HERE = Path("featureGates")
FLAG = Path("--feature-gates")
CONFIGURATION = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}

NEEDS_TOPOLOGY = {gate for gate in Gate if Gate.TopologyAwareScheduling in gate.needs}


@dataclass(frozen=True)
class Row:
    name: str
    stage: str
    default: bool
    needs: set[str]


def specified() -> list[Row]:
    """The table of section 12, one row per gate."""
    section = SPEC.read_text(encoding="utf-8").partition("## 12. ")[2].partition("\n## ")[0]
    cells = [[cell.strip() for cell in line.split("|")[1:5]] for line in section.splitlines() if "| o" in line]
    return [
        Row(
            name,
            stage,
            default == "on",
            {"TopologyAwareScheduling" if need == "TAS" else need for need in listed(needs)},
        )
        for names, stage, default, needs in cells
        for name in listed(names)
    ]


def listed(cell: str) -> list[str]:
    return [name for name in cell.split(", ") if name]


def settle(**settings: bool) -> ResolvedGates:
    return from_settings(settings, HERE)


def only(errors: list[FieldError]) -> FieldError:
    (error,) = errors
    return error


def test_defaults_are_those_of_the_reference_for_all_80_gates() -> None:
    """API-147"""
    removed_later = {"SchedulerLongRequeueInterval", "SchedulerTimestampPreemptionBuffer"}
    without_effect = {name: default for name, default in WITHOUT_EFFECT.items() if name not in removed_later}
    ours = {gate.name: gate.value.default for gate in Gate} | without_effect

    assert ours == api_recording("feature-gates")
    assert len(ours) == len(specified()) == 80
    assert not Gate.__members__.keys() & WITHOUT_EFFECT.keys()


@pytest.mark.parametrize("row", specified(), ids=lambda row: row.name)
def test_a_gate_has_the_stage_default_and_needs_of_the_specification(row: Row) -> None:
    """API-147"""
    if row.name in WITHOUT_EFFECT:
        assert WITHOUT_EFFECT[row.name] == row.default
        return
    traits = Gate[row.name].value
    stage = f"{traits.stage.value} {traits.since}" + (", locked" if traits.locked else "")
    assert Row(row.name, stage, traits.default, {need.name for need in Gate[row.name].needs}) == row


def test_stages_decide_the_default_but_for_one() -> None:
    """API-147: alpha is off, beta and GA are on; one beta gate is off."""
    odd = {gate for gate in Gate if gate.value.default != (gate.value.stage in (Stage.BETA, Stage.GA))}

    assert odd == {Gate.UnadmittedWorkloadsExplicitStatus}


def test_every_gate_reports_its_purpose_in_one_sentence() -> None:
    for gate in Gate:
        assert gate.value.purpose.endswith(".")
        assert gate.value.purpose.count(". ") == 0
        assert gate.value.since.startswith("0.")


def test_without_settings_the_defaults_hold() -> None:
    settled = settle()

    assert settled == ResolvedGates(DEFAULT_GATES, [], [])
    assert settled.gates.enabled(Gate.PartialAdmission)
    assert not settled.gates.enabled(Gate.ConcurrentAdmission)


def test_a_setting_overrides_the_default() -> None:
    gates = settle(PartialAdmission=False, ConcurrentAdmission=True).gates

    assert not gates.enabled(Gate.PartialAdmission)
    assert gates.enabled(Gate.ConcurrentAdmission)


def test_an_unknown_gate_is_an_error_that_lists_the_known_ones() -> None:
    """API-147"""
    error = only(settle(NoSuchGate=True, PartialAdmission=True).errors)

    assert (error.path, error.kind, error.value) == (HERE, ErrorKind.INVALID, "NoSuchGate")
    for name in (*Gate.__members__, *WITHOUT_EFFECT, *WHOLE_STAGES):
        assert name in error.detail


def test_an_unknown_gate_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        Gate["NoSuchGate"]


@pytest.mark.parametrize("gate", [gate for gate in Gate if gate.value.locked])
def test_a_locked_gate_accepts_only_its_default(gate: Gate) -> None:
    """API-147"""
    refused = only(settle(**{gate.name: not gate.value.default}).errors)

    assert refused.kind is ErrorKind.INVALID
    assert gate.name in str(refused.value)
    assert not settle(**{gate.name: gate.value.default}).errors


def test_the_locked_gates_are_the_two_ga_ones() -> None:
    """API-147"""
    locked = {gate for gate in Gate if gate.value.locked}

    assert locked == {Gate.ManagedJobsNamespaceSelectorAlwaysRespected, Gate.TLSOptions}
    assert all(gate.value.stage is Stage.GA for gate in locked)


def test_turning_topology_off_alone_is_one_error_that_names_what_needs_it() -> None:
    """API-141"""
    error = only(settle(TopologyAwareScheduling=False).errors)

    named = set(error.detail.rpartition(": ")[2].split(", "))
    assert named == {gate.name for gate in NEEDS_TOPOLOGY if gate.value.default}


def test_turning_topology_off_with_all_that_needs_it_is_fine() -> None:
    """API-141"""
    off = {gate.name: False for gate in NEEDS_TOPOLOGY}

    assert not settle(TopologyAwareScheduling=False, **off).errors


def test_enabling_a_gate_whose_need_is_off_is_an_error() -> None:
    """API-147"""
    error = only(settle(UnadmittedWorkloadsExplicitStatus=True, UnadmittedWorkloadsObservability=False).errors)

    assert "UnadmittedWorkloadsExplicitStatus" in error.detail
    assert error.value == "UnadmittedWorkloadsObservability=false"


def test_a_whole_stage_is_set_except_where_a_gate_is_named() -> None:
    """API-138"""
    gates = settle(AllAlpha=True, ConcurrentAdmission=False).gates

    alpha = {gate for gate in Gate if gate.value.stage is Stage.ALPHA}
    assert gates.on - DEFAULT_GATES.on == alpha - {Gate.ConcurrentAdmission}
    assert DEFAULT_GATES.on <= gates.on


def test_all_beta_off_leaves_the_locked_gates_on() -> None:
    """API-138"""
    settled = settle(AllBeta=False)

    assert settled.gates.on == {gate for gate in Gate if gate.value.locked}
    assert not settled.errors


def test_all_beta_on_turns_on_the_beta_gate_that_is_off_by_default() -> None:
    """API-138"""
    assert settle(AllBeta=True).gates.enabled(Gate.UnadmittedWorkloadsExplicitStatus)


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_a_gate_without_effect_is_accepted_with_a_warning(name: str) -> None:
    settled = settle(**{name: True})

    assert settled.gates == DEFAULT_GATES
    assert not settled.errors
    assert any(name in warning for warning in settled.warnings)


@pytest.mark.parametrize("name", ["TLSOptions", "TASReplaceNodeDueToNotReadyOverFixedTime"])
def test_setting_a_gate_that_will_go_warns(name: str) -> None:
    settled = settle(**{name: True})

    assert not settled.errors
    assert any(name in warning for warning in settled.warnings)


def test_the_flag_is_read_as_pairs() -> None:
    """API-138"""
    settings, errors = parse_flag(" PartialAdmission=false, ConcurrentAdmission = True,AllAlpha=1,", FLAG)

    assert settings == {"PartialAdmission": False, "ConcurrentAdmission": True, "AllAlpha": True}
    assert not errors


@pytest.mark.parametrize("text", ["PartialAdmission", "PartialAdmission=yes", "PartialAdmission=", "=x"])
def test_a_flag_that_is_no_pair_is_an_error(text: str) -> None:
    """API-138"""
    settings, errors = parse_flag(f"{text},MultiKueue=true", FLAG)

    assert settings == {"MultiKueue": True}
    assert only(errors).value == text


@given(st.dictionaries(st.sampled_from([*Gate.__members__, *WITHOUT_EFFECT, *WHOLE_STAGES, "Bogus"]), st.booleans()))
def test_gates_that_come_without_errors_have_all_they_need(settings: dict[str, bool]) -> None:
    """API-147"""
    settled = from_settings(settings, HERE)

    complete = all(need in settled.gates.on for gate in settled.gates.on for need in gate.needs)
    assert complete or settled.errors
    assert all(
        settled.gates.enabled(Gate[name]) == value for name, value in settings.items() if name in Gate.__members__
    )


class TestEarlierReleases:
    def test_defaults_follow_the_release(self) -> None:
        gates = from_settings({}, HERE, "v0.19").gates
        assert DEFAULT_GATES.on - gates.on == {
            Gate.MultiKueueKubeConfigPathValidation,
            Gate.RecomputeAssignmentUponPreemptionTargetsOverlap,
            Gate.UnadmittedWorkloadsObservability,
            Gate.WorkloadPriorityClassDefaulting,
        }
        assert gates.on <= DEFAULT_GATES.on

    def test_a_setting_overrides_the_default_of_the_release(self) -> None:
        settled = from_settings({"WorkloadPriorityClassDefaulting": True}, HERE, "v0.19")
        assert settled.gates.enabled(Gate.WorkloadPriorityClassDefaulting)

    def test_stages_are_those_of_the_release(self) -> None:
        """Gates that are Beta now were Alpha then, and AllBeta did not enable them."""
        gates = from_settings({"AllBeta": True}, HERE, "v0.19").gates
        assert gates.enabled(Gate.UnadmittedWorkloadsObservability)
        assert not gates.enabled(Gate.WorkloadPriorityClassDefaulting)

    @pytest.mark.parametrize("flag", ["", "ElasticJobsViaWorkloadSlices=true"])
    def test_a_configuration_has_the_defaults_of_the_release_with_and_without_the_flag(self, flag: str) -> None:
        found = parse_configuration(CONFIGURATION, ParsingContext(gate_flag=flag, compat="v0.19"))
        assert found.errors == []
        assert not found.gates.enabled(Gate.WorkloadPriorityClassDefaulting)
        now = parse_configuration(CONFIGURATION, ParsingContext(gate_flag=flag))
        assert now.gates.enabled(Gate.WorkloadPriorityClassDefaulting)

    @pytest.mark.parametrize("name", GRADUATED)
    def test_a_gate_that_graduated_is_accepted_only_in_its_locked_state(self, name: str) -> None:
        """API-147"""
        accepted = from_settings({name: GRADUATED[name]}, HERE)
        assert not accepted.errors
        assert accepted.warnings == [f"feature gate {name} is locked and will be removed; do not set it"]
        (error,) = from_settings({name: not GRADUATED[name]}, HERE).errors
        assert "locked" in error.detail
