"""Two ways to write a container that mean the same are the same (JOB-34)."""

from typing import Any

import pytest

from kohort.jobs.normalising import containers_of, tolerations_of


def normal(**container: Any) -> Any:
    return containers_of({"spec": {"containers": [{"name": "c", "image": "i:1", **container}]}}, "containers")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}),
        ({}, {"imagePullPolicy": "IfNotPresent", "resources": {}}),
        ({}, {"env": [], "ports": None, "command": []}),
        ({"image": "i"}, {"image": "i", "imagePullPolicy": "Always"}),
        ({"image": "i:latest"}, {"image": "i:latest", "imagePullPolicy": "Always"}),
        ({"image": "r:5000/i@sha256:0"}, {"image": "r:5000/i@sha256:0", "imagePullPolicy": "IfNotPresent"}),
        ({"ports": [{"containerPort": 80}]}, {"ports": [{"containerPort": 80, "protocol": "TCP"}]}),
        ({"resources": {"requests": {"cpu": "1000m"}}}, {"resources": {"requests": {"cpu": 1}}}),
        ({"resources": {"limits": {"memory": "1024Mi"}}}, {"resources": {"limits": {"memory": "1Gi"}}}),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]},
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x", "apiVersion": "v1"}}}]},
        ),
        (
            {"livenessProbe": {"httpGet": {"port": 80}}},
            {
                "livenessProbe": {
                    "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
                    "timeoutSeconds": 1,
                    "periodSeconds": 10,
                    "successThreshold": 1,
                    "failureThreshold": 3,
                }
            },
        ),
    ],
)
def test_defaults_and_spellings_do_not_matter(one: Any, other: Any) -> None:
    assert normal(**one) == normal(**other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"image": "i:1"}, {"image": "i:2"}),
        ({"resources": {"requests": {"cpu": "1"}}}, {"resources": {"requests": {"cpu": "2"}}}),
        ({"args": ["a", "b"]}, {"args": ["b", "a"]}),
        ({"ports": [{"containerPort": 80}]}, {"ports": [{"containerPort": 80, "protocol": "UDP"}]}),
        ({"stdin": False}, {"stdin": True}),
        ({"env": [{"name": "A", "value": "1"}]}, {"env": [{"name": "A", "value": "2"}]}),
    ],
)
def test_what_means_something_else_differs(one: Any, other: Any) -> None:
    assert normal(**one) != normal(**other)


def test_a_toleration_without_operator_means_equal() -> None:
    one = {"spec": {"tolerations": [{"key": "k", "value": "v"}]}}
    other = {"spec": {"tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": ""}]}}
    assert tolerations_of(one) == tolerations_of(other)
