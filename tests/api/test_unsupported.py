"""The table of what is not supported: complete, consistent with other tables, and read by field."""

import re
from pathlib import Path
from typing import Any

import pytest

import kohort
from kohort.api.config.frameworks import BUILT_IN_FRAMEWORKS
from kohort.api.config.parsing import ParsingContext, parse_configuration
from kohort.api.gates import Gate
from kohort.api.unsupported import UNSUPPORTED, notices
from kohort.jobs.builtin import built_in_frameworks

Json = Any
QUEUE = "kueue.x-k8s.io/queue-name"
_ALWAYS_ON = {Gate.ManagedJobsNamespaceSelectorAlwaysRespected, Gate.TLSOptions, Gate.PodIntegrationValidateGroupOwner}
"""Behaviours without a switch."""


def kueue(kind: str, **spec: Json) -> Json:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def job(kind: str = "Job", version: str = "batch/v1", annotations: Json = None, **labels: str) -> Json:
    template = {"metadata": {"annotations": annotations or {}}, "spec": {"containers": [{"name": "c"}]}}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "j", "labels": labels},
        "spec": {"template": template},
    }


def warned(configuration: Json, **surroundings: Json) -> list[str]:
    head = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    result = parse_configuration({**head, **configuration}, ParsingContext(**surroundings))
    assert result.errors == []
    return result.all_warnings


class TestTable:
    def test_every_framework_of_kueue_is_built_in(self) -> None:
        assert set(BUILT_IN_FRAMEWORKS) - {each.name for each in built_in_frameworks()} == set()

    def test_every_gate_that_no_code_reads_is_unsupported(self) -> None:
        source = Path(kohort.__file__).parent
        files = [each for each in source.rglob("*.py") if each.name not in ("gates.py", "unsupported.py")]
        read = set(re.findall(r"Gate\.(\w+)", " ".join(each.read_text() for each in files)))
        listed = {gate for capability in UNSUPPORTED for gate in capability.gates}
        assert [gate.name for gate in Gate if gate.name not in read and gate not in listed | _ALWAYS_ON] == []


class TestObjects:
    @pytest.mark.parametrize(
        ("value", "path", "name"),
        [
            (
                kueue("AdmissionCheck", controllerName="kueue.x-k8s.io/multikueue"),
                "spec.controllerName",
                "MultiKueue",
            ),
            (kueue("MultiKueueCluster"), "", "MultiKueue"),
            (kueue("MultiKueueConfig"), "", "MultiKueue"),
            (
                {"apiVersion": "batch/v1", "kind": "Job", "spec": {"managedBy": "kueue.x-k8s.io/multikueue"}},
                "spec.managedBy",
                "MultiKueue",
            ),
            (
                {
                    "apiVersion": "kubeflow.org/v1",
                    "kind": "TFJob",
                    "spec": {"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}},
                },
                "spec.runPolicy.managedBy",
                "MultiKueue",
            ),
        ],
    )
    def test_an_object_of_a_missing_capability(self, value: Json, path: str, name: str) -> None:
        (notice,) = notices(value)
        assert notice.path.text == path
        assert notice.message.startswith(f"{name} is not supported by this version of Kohort yet: ")

    @pytest.mark.parametrize(
        "value",
        [
            job(**{QUEUE: "team-a"}),
            kueue("ResourceFlavor"),
            kueue("AdmissionCheck", controllerName="example.com/budget"),
            kueue("Topology"),
            kueue("ResourceFlavor", topologyName="t"),
            kueue("Workload", podSets=[{"topologyRequest": {"required": "rack"}}, None]),
            job(annotations={"kueue.x-k8s.io/podset-required-topology": "rack"}),
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": None, "spec": [1]},
            {"apiVersion": 3, "kind": None},
        ],
    )
    def test_other_objects_are_not_reported(self, value: Json) -> None:
        assert notices(value) == []


class TestConfiguration:
    def test_a_framework_whose_gate_is_off_has_no_effect(self) -> None:
        frameworks = {"integrations": {"frameworks": ["batch/job", "sparkoperator.k8s.io/sparkapplication"]}}
        gate = "SparkApplicationIntegration"
        assert warned(frameworks) == [
            "integrations.frameworks: sparkoperator.k8s.io/sparkapplication has no effect while feature gate "
            f"{gate} is disabled"
        ]
        assert warned({**frameworks, "featureGates": {gate: True}}) == []
        assert warned(frameworks, gate_flag=f"{gate}=true") == []

    @pytest.mark.parametrize(
        ("gate", "name"),
        [("MultiKueueRemoteSpecSync", "MultiKueue"), ("MultiKueue", "MultiKueue")],
    )
    def test_a_gate_that_is_turned_on_has_no_effect(self, gate: str, name: str) -> None:
        message = f"the gate has no effect: {name} is not supported by this version of Kohort yet"
        assert warned({"featureGates": {gate: True}}) == [f"featureGates[{gate}]: {message}"]
        assert warned({}, gate_flag=f"{gate}=true") == [f"--feature-gates[{gate}]: {message}"]

    def test_a_gate_that_is_off_or_supported_is_not_reported(self) -> None:
        assert warned({"featureGates": {"MultiKueueRemoteSpecSync": False, "PartialAdmission": True}}) == []

    def test_each_setting_of_multikueue_is_named(self) -> None:
        lines = warned({"multiKueue": {"dispatcherName": "example.com/mine", "origin": "here"}})
        assert [line.partition(":")[0] for line in lines] == ["multiKueue.dispatcherName", "multiKueue.origin"]
        assert all("MultiKueue is not supported by this version of Kohort yet" in line for line in lines)

    def test_the_defaults_are_silent(self) -> None:
        assert warned({}) == []
