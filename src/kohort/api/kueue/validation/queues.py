"""Webhook rules of ClusterQueue and Cohort (API-14 to API-33)."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kohort.api.fields import ROOT, FieldError, Path, duplicate, forbidden, invalid, not_supported
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.v1beta2.queues import (
    AdmissionCheckRule,
    ClusterQueue,
    ClusterQueueSpec,
    Cohort,
    FairSharing,
    ResourceGroup,
    ResourceQuota,
)
from kohort.api.markers import RawQuantity
from kohort.api.names import check_qualified_name
from kohort.api.quantity import Quantity
from kohort.api.selectors import selector_errors

MAX_FLAVORS = 256
MAX_COVERED_RESOURCES = 256
MAX_RESOURCES_PER_GROUP = 512
MAX_CONCURRENT_FLAVORS = 16

ZERO = Quantity.parse(0)
SMALLEST_WEIGHT = Quantity.parse("1n")

SPEC = ROOT / "spec"
GROUPS = SPEC / "resourceGroups"
POLICY = SPEC / "concurrentAdmissionPolicy"


class QuotaRules(NamedTuple):
    """Differences between quotas of a ClusterQueue and of a Cohort."""

    parent: str
    """Name of the parent cohort; empty without one."""
    remedy: str
    """How to set it."""
    lending_is_part_of_nominal: bool


def cluster_queue_errors(queue: ClusterQueue, gates: FeatureGates) -> list[FieldError]:
    """Problems of a ClusterQueue on its own."""
    spec = queue.spec
    rules = QuotaRules(spec.cohort_name or "", "set cohortName", lending_is_part_of_nominal=True)
    return [
        *_resource_group_errors(spec.resource_groups, rules),
        *_total_errors(spec.resource_groups),
        *selector_errors(spec.namespace_selector, SPEC / "namespaceSelector"),
        *_weight_errors(spec.fair_sharing),
        *(_concurrent_admission_errors(spec) if gates.enabled(Gate.ConcurrentAdmission) else ()),
    ]


def cluster_queue_create_errors(queue: ClusterQueue, gates: FeatureGates) -> list[FieldError]:
    """Problems of a new ClusterQueue."""
    return [*cluster_queue_errors(queue, gates), *_on_flavors_errors(queue, lambda _check: False)]


def cluster_queue_update_errors(new: ClusterQueue, old: ClusterQueue, gates: FeatureGates) -> list[FieldError]:
    """Problems of a changed ClusterQueue (API-25, API-27)."""
    errors = cluster_queue_errors(new, gates)
    errors += _on_flavors_errors(new, lambda check: _was_invalid_before(check, new, old, gates))
    if new.spec.concurrent_admission_policy != old.spec.concurrent_admission_policy:
        remedy = "can't be added, changed or removed after creation: create another ClusterQueue"
        errors.append(invalid(POLICY, new.spec.concurrent_admission_policy, remedy, "API-27"))
    return errors


def cohort_errors(cohort: Cohort) -> list[FieldError]:
    """Problems of a Cohort, new or changed (API-31, API-32)."""
    rules = QuotaRules(cohort.spec.parent_name or "", "set parentName", lending_is_part_of_nominal=False)
    return [*_resource_group_errors(cohort.spec.resource_groups, rules), *_weight_errors(cohort.spec.fair_sharing)]


# Resource groups


def _resource_group_errors(groups: tuple[ResourceGroup, ...], rules: QuotaRules) -> Iterator[FieldError]:
    seen_resources: set[str] = set()
    seen_flavors: set[str] = set()
    for index, group in enumerate(groups):
        yield from _covered_errors(group, GROUPS[index], seen_resources)
        yield from _flavor_errors(group, GROUPS[index], seen_flavors, rules)


def _covered_errors(group: ResourceGroup, path: Path, seen: set[str]) -> Iterator[FieldError]:
    for index, resource in enumerate(group.covered_resources):
        place = (path / "coveredResources")[index]
        problem = check_qualified_name(resource)
        if problem:
            yield invalid(place, resource, problem, "API-17")
        if resource in seen:
            yield duplicate(place, resource, "a resource belongs to one group only", "API-18")
        seen.add(resource)


def _flavor_errors(group: ResourceGroup, path: Path, seen: set[str], rules: QuotaRules) -> Iterator[FieldError]:
    for index, flavor in enumerate(group.flavors):
        place = (path / "flavors")[index]
        if flavor.name in seen:
            yield duplicate(place / "name", flavor.name, "a flavor belongs to one group only", "API-18")
        seen.add(flavor.name)
        for position, quota in enumerate(flavor.resources):
            yield from _order_errors(group, position, quota, (place / "resources")[position])
            yield from _quota_errors(quota, (place / "resources")[position], rules)


def _order_errors(group: ResourceGroup, position: int, quota: ResourceQuota, path: Path) -> Iterator[FieldError]:
    expected = group.covered_resources[position] if position < len(group.covered_resources) else ""
    if quota.name != expected:
        remedy = f'must be "{expected}": resources are listed in the order of coveredResources'
        yield invalid(path / "name", quota.name, remedy, "API-16")


def _quota_errors(quota: ResourceQuota, path: Path, rules: QuotaRules) -> Iterator[FieldError]:
    yield from _negative_errors(quota.nominal_quota, path / "nominalQuota")
    for name, limit in (("borrowingLimit", quota.borrowing_limit), ("lendingLimit", quota.lending_limit)):
        if limit is None:
            continue
        if not rules.parent:
            yield invalid(path / name, limit, f"needs a cohort to share with: {rules.remedy} or remove it", "API-14")
        yield from _negative_errors(limit, path / name)
    if rules.lending_is_part_of_nominal and _lends_more_than_nominal(quota):
        remedy = f"may not exceed the nominalQuota of {quota.nominal_quota}"
        yield invalid(path / "lendingLimit", quota.lending_limit, remedy, "API-19")


def _lends_more_than_nominal(quota: ResourceQuota) -> bool:
    limit = quota.lending_limit
    return limit is not None and Quantity.parse(limit) > Quantity.parse(quota.nominal_quota)


def _negative_errors(value: RawQuantity, path: Path) -> Iterator[FieldError]:
    if Quantity.parse(value) < ZERO:
        yield invalid(path, value, "must be 0 or more", "API-19")


def _total_errors(groups: tuple[ResourceGroup, ...]) -> Iterator[FieldError]:
    """API-20, for ClusterQueues only (API-33)."""
    flavors = sum(len(group.flavors) for group in groups)
    covered = sum(len(group.covered_resources) for group in groups)
    if flavors > MAX_FLAVORS:
        yield invalid(GROUPS, flavors, f"all groups together may have at most {MAX_FLAVORS} flavors", "API-20")
    if covered > MAX_COVERED_RESOURCES:
        limit = f"all groups together may cover at most {MAX_COVERED_RESOURCES} resources"
        yield invalid(GROUPS, covered, limit, "API-20")
    for index, group in enumerate(groups):
        quotas = sum(len(flavor.resources) for flavor in group.flavors)
        if quotas > MAX_RESOURCES_PER_GROUP:
            limit = f"a group may have at most {MAX_RESOURCES_PER_GROUP} quotas over all its flavors"
            yield invalid(GROUPS[index], quotas, limit, "API-20")


def _weight_errors(fair_sharing: FairSharing | None) -> Iterator[FieldError]:
    if fair_sharing is None:
        return
    weight = Quantity.parse(fair_sharing.weight)
    if weight != ZERO and weight <= SMALLEST_WEIGHT:
        remedy = "weight must be 0, or more than 1n"
        yield invalid(SPEC / "fairSharing", fair_sharing.weight, remedy, "API-24")


# Admission checks


def _on_flavors_errors(queue: ClusterQueue, tolerated: Callable[[AdmissionCheckRule], bool]) -> list[FieldError]:
    strategy = queue.spec.admission_checks_strategy
    flavors = flavor_names(queue.spec)
    checks = strategy.admission_checks if strategy else ()
    return [
        not_supported(_check_path(index)[position], name, sorted(flavors), "API-25")
        for index, check in enumerate(checks)
        for position, name in enumerate(check.on_flavors)
        if name not in flavors and not tolerated(check)
    ]


def _check_path(index: int) -> Path:
    return (SPEC / "admissionChecksStrategy" / "admissionChecks")[index] / "onFlavors"


def flavor_names(spec: ClusterQueueSpec) -> frozenset[str]:
    """Names of all flavors of a ClusterQueue."""
    return frozenset(flavor.name for group in spec.resource_groups for flavor in group.flavors)


def _was_invalid_before(check: AdmissionCheckRule, new: ClusterQueue, old: ClusterQueue, gates: FeatureGates) -> bool:
    """Whether neither the flavors of the queue nor those of the check changed, so that the error is not new."""
    if gates.enabled(Gate.RejectUpdatesToCQWithInvalidOnFlavors) or flavor_names(new.spec) != flavor_names(old.spec):
        return False
    strategy = old.spec.admission_checks_strategy
    before = next((rule for rule in strategy.admission_checks if rule.name == check.name), None) if strategy else None
    return before is not None and set(before.on_flavors) == set(check.on_flavors)


# Concurrent admission


def _concurrent_admission_errors(spec: ClusterQueueSpec) -> Iterator[FieldError]:
    """API-26."""
    if spec.concurrent_admission_policy is None:
        return
    if len(spec.resource_groups) != 1:
        detail = "concurrentAdmissionPolicy needs exactly one resource group"
        yield invalid(GROUPS, len(spec.resource_groups), detail, "API-26")
    elif len(spec.resource_groups[0].flavors) > MAX_CONCURRENT_FLAVORS:
        detail = f"concurrentAdmissionPolicy allows at most {MAX_CONCURRENT_FLAVORS} flavors"
        yield invalid(GROUPS[0] / "flavors", len(spec.resource_groups[0].flavors), detail, "API-26")
    if spec.queueing_strategy == "StrictFIFO":
        detail = "concurrentAdmissionPolicy needs BestEffortFIFO"
        yield invalid(SPEC / "queueingStrategy", spec.queueing_strategy, detail, "API-26")
    yield from _migration_errors(spec)


def _migration_errors(spec: ClusterQueueSpec) -> Iterator[FieldError]:
    migration = spec.concurrent_admission_policy and spec.concurrent_admission_policy.migration
    if not migration or migration.constraints is None:
        return
    path = POLICY / "migration" / "constraints"
    if migration.mode != "TryPreferredFlavors":
        yield forbidden(path, "goes only with mode TryPreferredFlavors", "API-26")
    last = migration.constraints.last_acceptable_flavor_name
    if last and last not in flavor_names(spec):
        yield invalid(path / "lastAcceptableFlavorName", last, "must be a flavor of this queue", "API-26")
