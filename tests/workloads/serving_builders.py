"""Builders of serving workloads, and their observable state with generated names masked."""

import re
from typing import Any

from workloads.serving_harness import Object, ServingCaseRunner

Observed = dict[str, Any]
_HASHED = re.compile(r"\b(web|db)-[a-z0-9]{8,10}(-[a-z0-9]{5})?\b")
_BARE = re.compile(r"\b(web)-[a-z0-9]{5}\b")
NEVER = {"kohort.dev/fail-waiting": "ImagePullBackOff"}
NEVER_READY = {"kohort.dev/ready-seconds": "never"}


def masked(text: str) -> str:
    """The text with generated and hashed parts of names masked."""
    return _BARE.sub(r"\1-#", _HASHED.sub(lambda match: f"{match[1]}-#{'-#' if match[2] else ''}", text))


def template(app: str, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    metadata = {"labels": {"app": app}, **({"annotations": annotations} if annotations else {})}
    return {"metadata": metadata, "spec": {"containers": [{"name": "main", "image": "one"}], **spec}}


def deployment(replicas: int = 3, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    selector = {"matchLabels": {"app": "web"}}
    body = {"replicas": replicas, "selector": selector, "template": template("web", annotations)}
    return {"metadata": {"name": "web"}, "spec": {**body, **spec}}


def stateful_set(replicas: int = 3, **spec: Any) -> Object:
    selector = {"matchLabels": {"app": "db"}}
    body = {"replicas": replicas, "selector": selector, "serviceName": "db", "template": template("db")}
    return {"metadata": {"name": "db"}, "spec": {**body, **spec}}


def image(name: str) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": name}]}}}}


def conditions(found: Object) -> list[tuple[str, ...]]:
    reported = found["status"].get("conditions") or []
    return sorted((c["type"], c["status"], c.get("reason", ""), masked(c.get("message", ""))) for c in reported)


def counts(found: Object) -> Observed:
    """The status without conditions and revision names."""
    left = {"conditions", "currentRevision", "updateRevision", "observedGeneration"}
    return {key: value for key, value in found["status"].items() if key not in left}


async def rolled_out(harness: ServingCaseRunner, what: str = "deployment/web") -> str:
    output = await harness.kubectl("rollout", "status", what, "--timeout=90s")
    return f"{output.code} {masked((output.out + output.err).splitlines()[-1])}"
