"""A scripted stand-in for AppWrapper's operator: wrapped objects, and the status as it reports it."""

from copy import deepcopy
from typing import Any, Final

from jobs.app_wrappers import RUNNING, with_conditions
from jobs.job_manager_harness import JobManagerHarness
from jobs.webhook_caller import WebhookCaller

Json = Any

APP_WRAPPERS: Final = "/apis/workload.codeflare.dev/v1beta2/namespaces/default/appwrappers"
PATHS: Final = {"Job": "/apis/batch/v1/namespaces/default/jobs", "Pod": "/api/v1/namespaces/default/pods"}
TEMPLATES: Final = {"Job": ("spec", "template"), "Pod": ()}


class ScriptedCodeFlare:
    """Acts on AppWrappers only when it is called."""

    def __init__(self, harness: JobManagerHarness, webhooks: WebhookCaller) -> None:
        self._harness = harness
        self._webhooks = webhooks

    async def act(self) -> None:
        """Create the objects of unsuspended AppWrappers, and delete those of suspended ones."""
        for each in (await self._harness.server.get(APP_WRAPPERS))["items"]:
            phase = (each.get("status") or {}).get("phase")
            if phase in ("Succeeded", "Failed"):
                continue
            if each["spec"].get("suspend"):
                await self._reset(each)
            elif phase != "Running":
                await self._deploy(each)
        await self._harness.settle()

    async def report(self, name: str, phase: str, **conditions: bool) -> None:
        """Set the phase of an AppWrapper whose objects are not in use any more."""
        await self._report(name, with_conditions(phase, QuotaReserved=False, **conditions))
        await self._harness.settle()

    async def _deploy(self, obj: Json) -> None:
        for component in obj["spec"]["components"]:
            wrapped = deepcopy(component["template"])
            wrapped["metadata"] |= {"namespace": "default", "ownerReferences": [_controller(obj)]}
            for info in component.get("podSetInfos", ()):
                _merge(_template(wrapped), info)
            await self._webhooks.send(wrapped)
        await self._report(obj["metadata"]["name"], RUNNING)

    async def _reset(self, obj: Json) -> None:
        for component in obj["spec"]["components"]:
            wrapped = component["template"]
            await self._harness.server.request(
                "DELETE", f"{PATHS[wrapped['kind']]}/{wrapped['metadata']['name']}", propagationPolicy="Background"
            )
        await self._report(obj["metadata"]["name"], with_conditions("Suspended", QuotaReserved=False, PodsReady=False))

    async def _report(self, name: str, status: Json) -> None:
        response = await self._harness.server.merge(f"{APP_WRAPPERS}/{name}/status", {"status": status})
        assert response.status == 200, response


def _template(wrapped: Json) -> Json:
    for step in TEMPLATES[wrapped["kind"]]:
        wrapped = wrapped[step]
    return wrapped


def _merge(template: Json, info: Json) -> None:
    head, spec = template.setdefault("metadata", {}), template["spec"]
    for owner, name in ((head, "labels"), (head, "annotations"), (spec, "nodeSelector")):
        owner[name] = {**owner.get(name, {}), **info.get(name, {})}
    for name in ("tolerations", "schedulingGates"):
        spec[name] = [*spec.get(name, ()), *info.get(name, ())]


def _controller(obj: Json) -> Json:
    head = obj["metadata"]
    reference = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": head["name"], "uid": head["uid"]}
    return {**reference, "controller": True}
