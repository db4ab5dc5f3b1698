"""A custom job kind of the tests: its definition, the framework that declares it, and its objects (GS-42)."""

from copy import deepcopy
from typing import Any

from kohort.jobs.declarative import DeclaredFramework, declared_framework

Json = Any

SIMULATION = """
name: example.org/simulation
gvk: example.org/v1/Simulation
suspend: spec.paused
podsets:
  - {name: coordinator, template: spec.coordinator.template, count: 1}
  - {foreach: "spec.roles[*]", name_path: name, template: template, count: replicas, default_count: 1}
finished:
  - {condition: Done,   success: true,  message_path: message}
  - {condition: Broken, success: false, message_path: message}
active: {path: status.activePods, op: ">", value: 0}
ready: {path: status.readyPods, op: ">=", value: podsets}
priority_class: spec.priorityClassName
managed_by: {path: spec.managedBy, native: example.org/controller}
"""
PRESERVED = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def simulation_framework() -> DeclaredFramework:
    return declared_framework(SIMULATION)


def simulation_definition(*versions: str) -> Json:
    """The CustomResourceDefinition, by default with version v1."""
    schema = {"type": "object", "properties": {"spec": PRESERVED, "status": PRESERVED}}
    served = [
        {
            "name": name,
            "served": True,
            "storage": index == 0,
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
        }
        for index, name in enumerate(versions or ("v1",))
    ]
    names = {"plural": "simulations", "singular": "simulation", "kind": "Simulation", "listKind": "SimulationList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "simulations.example.org"},
        "spec": {"group": "example.org", "names": names, "scope": "Namespaced", "versions": served},
    }


def make_simulation(namespace: str = "default", **status: Any) -> Json:
    """A simulation of four pods; running if it has a status."""
    pods = {"spec": {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "1"}}}]}}
    roles = [{"name": "A", "replicas": 2, "template": deepcopy(pods)}, {"name": "b", "template": deepcopy(pods)}]
    return {
        "apiVersion": "example.org/v1",
        "kind": "Simulation",
        "metadata": {"name": "s1", "namespace": namespace, "uid": "u", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {"paused": not status, "coordinator": {"template": pods}, "roles": roles},
        "status": status,
    }
