"""Builders of objects for the tests of the API server."""

from typing import Any

from kit.builders.core import make_container

Object = dict[str, Any]


def deployment(name: str, replicas: int = 1) -> Object:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [make_container()]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def role(name: str, *rules: Object, namespace: str = "default") -> Object:
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    return {**head, "metadata": {"name": name, "namespace": namespace}, "rules": list(rules)}


def binding(name: str, role_name: str, user: str, namespace: str = "default", kind: str = "Role") -> Object:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": group, "kind": kind, "name": role_name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }


def rule(resources: str, *verbs: str, group: str = "") -> Object:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": list(verbs)}


def widget_definition(*versions: Object) -> Object:
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": list(versions) or [version()]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**head, "metadata": {"name": "widgets.example.com"}, "spec": spec}


def version(name: str = "v1", *, storage: bool = True, served: bool = True) -> Object:
    size = {"type": "integer", "minimum": 1}
    members = {"size": size, "color": {"type": "string", "default": "red"}}
    spec = {"type": "object", "required": ["size"], "properties": members}
    status = {"type": "object", "properties": {"ready": {"type": "boolean"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    column = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
    return {
        "name": name,
        "served": served,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [column],
    }


def widget(name: str, size: int = 1, api_version: str = "example.com/v1") -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": api_version, "kind": "Widget", "metadata": metadata, "spec": {"size": size}}
