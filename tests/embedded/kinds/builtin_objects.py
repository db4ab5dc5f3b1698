"""Built-in resources and objects of them, one line each."""

from typing import Any

from kohort.embedded.kinds import builtin_resources
from kohort.embedded.resources import ServedResource

Object = dict[str, Any]


def find(key: str) -> ServedResource:
    return next(one for one in builtin_resources() if one.qualified == key)


PODS, JOBS, NAMESPACES = find("pods"), find("jobs.batch"), find("namespaces")


def container(**more: Any) -> Object:
    return {"name": "main", "image": "busybox:1", **more}


def pod(*containers: Object, name: str = "p", **spec: Any) -> Object:
    heading = {"name": name, "namespace": "team"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": heading,
        "spec": {"containers": list(containers) or [container()], **spec},
    }


def template(*containers: Object, labels: Object | None = None, **spec: Any) -> Object:
    heading = {"labels": labels} if labels else {}
    return {"metadata": heading, "spec": {"containers": list(containers) or [container()], **spec}}


def job(name: str = "j", pods: Object | None = None, **spec: Any) -> Object:
    heading = {"name": name, "namespace": "team", "uid": "u-1"}
    inner = pods or template(restartPolicy="Never")
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": heading, "spec": {"template": inner, **spec}}


def deployment(name: str = "d", pods: Object | None = None, **spec: Any) -> Object:
    inner = pods or template(labels={"app": "x"})
    body = {"selector": {"matchLabels": {"app": "x"}}, "template": inner, **spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "team"},
        "spec": body,
    }
