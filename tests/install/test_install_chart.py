"""The Helm chart in this repository: current, and the same as what `kohort install` prints."""

import json
from typing import Any

import pytest
from jsonschema import Draft7Validator  # type: ignore[import-untyped]

from install.chart_cases import CASES, CHART, given, objects, printed, values
from install.golang_templates import Release
from kohort.install.chart import chart_files

Json = Any


def test_the_files_are_those_that_the_command_writes() -> None:
    """`kohort install --chart charts/kohort` brings them up to date."""
    there = {str(file.relative_to(CHART)): file.read_text() for file in CHART.rglob("*") if file.is_file()}
    assert there == chart_files()


@pytest.mark.parametrize("case", CASES)
def test_the_chart_renders_what_install_prints(case: str) -> None:
    changes, namespace, options = CASES[case]
    release = Release(values(**changes), namespace)
    texts = [release.rendered(file.read_text()) for file in sorted((CHART / "templates").glob("*.yaml"))]
    assert [without_policy(each) for each in objects("".join(texts))] == printed(options)


def without_policy(found: Json) -> Json:
    """The object without what only Helm reads."""
    metadata = {**found["metadata"]}
    notes = {name: value for name, value in metadata.pop("annotations", {}).items() if name != POLICY}
    return {**found, "metadata": {**metadata, "annotations": notes} if notes else metadata}


POLICY = "helm.sh/resource-policy"


@pytest.mark.parametrize(("keep", "policy"), [(True, "keep"), (False, "delete")])
def test_helm_keeps_the_definitions_by_default(keep: bool, policy: str) -> None:
    """All queues and Workloads would end with them."""
    release = Release(values(crds={"keep": keep}), "kueue-system")
    found = objects(release.rendered((CHART / "templates" / "definitions.yaml").read_text()))
    assert found
    assert {each["metadata"]["annotations"][POLICY] for each in found} == {policy}
    notes = release.rendered((CHART / "templates" / "NOTES.txt").read_text())
    assert ("leaves the CustomResourceDefinitions in place" in notes) is keep
    assert ("ALL queues and Workloads" in notes) is not keep


def refused(found: Json) -> list[str]:
    """Where the schema contains that values are wrong."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    return [each.json_path for each in Draft7Validator(schema).iter_errors(found)]


@pytest.mark.parametrize("case", CASES)
def test_values_that_the_chart_follows_are_taken(case: str) -> None:
    assert refused(values(**CASES[case][0])) == []


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"certmanager": {"enable": True}}, "$"),
        ({"image": 123}, "$.image"),
        ({"replicas": 0}, "$.replicas"),
        ({"managerConfig": given(webhook={"port": 1111})}, "$.managerConfig.webhook.port"),
        ({"managerConfig": given(metrics={"bindAddress": ":1"})}, "$.managerConfig.metrics.bindAddress"),
        ({"certManager": {"enable": True, "issuer": {"kind": "X"}}}, "$.certManager.issuer.kind"),
        ({"frameworks": [{"name": "a", "gvk": "v1/Job", "suspend": "s", "podsets": []}]}, "$.frameworks[0].gvk"),
    ],
)
def test_values_without_an_effect_on_the_chart_are_rejected_by_path(changes: Json, place: str) -> None:
    assert refused(values(**changes)) == [place]
