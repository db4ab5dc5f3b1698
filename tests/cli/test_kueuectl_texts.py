"""Quotas, taints and templates of `kubectl kueue`: pure."""

import subprocess
import sys

import pytest

from kohort.api.errors import ApiError
from kohort.cli.kueuectl.creating import CreateError, pairs, taints, toleration
from kohort.cli.kueuectl.jsonpath_text import JsonPathText
from kohort.cli.kueuectl.quotas import QuotaError, resource_groups


def nominal(*texts: str) -> list[dict[str, object]]:
    return resource_groups({"--nominal-quota": texts})


def test_flavors_with_the_same_resources_share_a_group() -> None:
    (group,) = nominal("a:cpu=1;memory=2Gi", "b:memory=4Gi;cpu=3")
    assert group["coveredResources"] == ["cpu", "memory"]
    second = group["flavors"][1]["resources"]  # type: ignore[index]
    assert [each["name"] for each in second] == ["cpu", "memory"]


def test_flavors_with_other_resources_have_a_group_of_their_own() -> None:
    assert [group["coveredResources"] for group in nominal("a:cpu=1", "b:nvidia.com/gpu=8")] == [
        ["cpu"],
        ["nvidia.com/gpu"],
    ]


def test_a_limit_without_a_quota_makes_a_quota_of_nothing() -> None:
    (group,) = resource_groups({"--borrowing-limit": ["a:cpu=1"]})
    assert group["flavors"][0]["resources"] == [{"name": "cpu", "nominalQuota": "0", "borrowingLimit": "1"}]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cpu=1", "use flavor:resource=amount"),
        ("a:", "use flavor:resource=amount"),
        ("a:cpu", "invalid quota 'cpu'"),
        ("a:cpu=lots", "invalid quota 'cpu=lots'"),
    ],
)
def test_quotas_that_can_not_be_read(text: str, why: str) -> None:
    with pytest.raises(QuotaError, match="--nominal-quota") as caught:
        nominal(text)
    assert why in str(caught.value)


def test_quotas_that_do_not_go_together() -> None:
    with pytest.raises(QuotaError, match="inconsistent resources of flavor 'a': use cpu"):
        resource_groups({"--nominal-quota": ["a:cpu=1"], "--lending-limit": ["a:memory=1Gi"]})
    with pytest.raises(QuotaError, match="resources cpu are a subset of another flavor's"):
        nominal("a:cpu=1;memory=1Gi", "b:cpu=1")


def test_tolerations_and_taints() -> None:
    assert toleration("a") == {"key": "a", "operator": "Exists"}
    assert toleration("a=b:NoSchedule") == {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}
    for text in ("a=b:Never", "", "a b"):
        with pytest.raises(CreateError):
            toleration(text)
    with pytest.raises(CreateError, match="duplicate a:NoSchedule"):
        taints(["a=1:NoSchedule", "a=2:NoSchedule"])
    with pytest.raises(CreateError, match="use KEY=VALUE:EFFECT"):
        taints(["a=b"])
    with pytest.raises(CreateError, match="use KEY=VALUE"):
        pairs("--node-labels", ["a"])


ITEMS = {"items": [{"name": "a", "size": 1, "on": True}, {"name": "b", "size": 2, "on": False}]}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{.items[*].name}", "a b"),
        (".items[0].name", "a"),
        ("{.items[*].on}", "true false"),
        ('{range .items[*]}{.name}{"\\t"}{.size}{"\\n"}{end}', "a\t1\nb\t2\n"),
        ("sum: {.items[?(@.size>1)].name}!", "sum: b!"),
        ("{range .items[*]}[{.name}]{end}", "[a][b]"),
        ("{'it''s'}", "it''s"),
    ],
)
def test_templates(template: str, text: str) -> None:
    assert JsonPathText(template)(ITEMS) == text


@pytest.mark.parametrize("template", ["{range .items[*]}{.name}", "{.name", "{end}", "{.items[}", '{"\\q"}'])
def test_templates_that_can_not_be_read(template: str) -> None:
    with pytest.raises(ApiError):
        JsonPathText(template)


def test_the_plugin_starts_without_the_embedded_server() -> None:
    program = "import sys, kohort.cli.kueuectl.main\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert [name for name in done.stdout.split() if name.startswith("kohort.embedded")] == []
