"""A pending pod as it would be created: what RuntimeClass, LimitRanges and limits add to it (SCH-120 to SCH-122).

Only the typed view changes, never the user's template; a pod without additions is returned unchanged.
"""

from msgspec.structs import replace

from kohort.api.core.containers import QuotaContainer, ResourceRequirements
from kohort.api.core.pods import QuotaPodSpec
from kohort.api.markers import ResourceList
from kohort.engine.requests.environment import Environment, TypeLimits


def adjusted(spec: QuotaPodSpec, environment: Environment) -> QuotaPodSpec:
    """The pod with overhead, default requests and limits, and limits as missing requests (SCH-120..122)."""
    resources = spec.resources
    return replace(
        spec,
        overhead=_overhead(spec, environment),
        init_containers=_completed_all(spec.init_containers, environment.container),
        containers=_completed_all(spec.containers, environment.container),
        resources=None if resources is None else _completed(resources, environment.pod),
    )


def _overhead(spec: QuotaPodSpec, environment: Environment) -> ResourceList:
    """SCH-120; a RuntimeClass that does not exist adds nothing."""
    return spec.overhead or environment.overheads.get(spec.runtime_class_name, {})


def _completed_all(containers: tuple[QuotaContainer, ...], limits: TypeLimits) -> tuple[QuotaContainer, ...]:
    return tuple([_completed_container(container, limits) for container in containers])


def _completed_container(container: QuotaContainer, limits: TypeLimits) -> QuotaContainer:
    resources = _completed(container.resources, limits)
    return container if resources is container.resources else replace(container, resources=resources)


def _completed(resources: ResourceRequirements, defaults: TypeLimits) -> ResourceRequirements:
    """Explicit requests take precedence over the LimitRange's default (SCH-121), and both over limits (SCH-122)."""
    limits = {**defaults.default_limits, **resources.limits}
    requests = {**limits, **defaults.default_requests, **resources.requests}
    if len(limits) == len(resources.limits) and len(requests) == len(resources.requests):
        return resources
    return replace(resources, limits=limits, requests=requests)
