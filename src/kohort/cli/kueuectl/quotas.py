"""Parses quotas `flavor:cpu=9;memory=36Gi` into resource groups. Pure (§14, `create clusterqueue`)."""

from collections.abc import Iterable, Iterator, Mapping

from kohort.api.codec import JsonObject
from kohort.api.errors import ApiError
from kohort.api.quantity import is_quantity

_Amounts = dict[str, str]

FIELDS = {"--nominal-quota": "nominalQuota", "--borrowing-limit": "borrowingLimit", "--lending-limit": "lendingLimit"}


class QuotaError(ApiError):
    """Invalid or inconsistent quotas."""


def resource_groups(given: Mapping[str, Iterable[str]]) -> list[JsonObject]:
    """The resource groups of the three flags: flavors with the same resources share one."""
    flavors = dict[str, dict[str, JsonObject]]()
    for option, texts in given.items():
        for flavor, amounts in _parsed(option, texts):
            _add(flavors, flavor, option, amounts)
    return _grouped(flavors)


def _parsed(option: str, texts: Iterable[str]) -> Iterator[tuple[str, _Amounts]]:
    for text in (part for whole in texts for part in whole.split(",")):
        flavor, colon, rest = text.strip().partition(":")
        amounts = dict[str, str]()
        for pair in filter(None, rest.split(";")):
            name, equals, amount = pair.strip().partition("=")
            if not name or not equals or not is_quantity(amount):
                raise QuotaError(f"{option} {text!r}: invalid quota {pair!r}: use resource=amount, e.g. cpu=9")
            amounts[name] = amount
        if not flavor or not colon or not amounts:
            raise QuotaError(f"{option} {text!r}: use flavor:resource=amount;…, e.g. default:cpu=9;memory=36Gi")
        yield flavor, amounts


def _add(flavors: dict[str, dict[str, JsonObject]], flavor: str, option: str, amounts: _Amounts) -> None:
    known = flavors.setdefault(flavor, {name: {"name": name, "nominalQuota": "0"} for name in amounts})
    if known.keys() != amounts.keys():
        wanted = ", ".join(sorted(known))
        raise QuotaError(f"{option}: inconsistent resources of flavor {flavor!r}: use {wanted}")
    for name, amount in amounts.items():
        known[name][FIELDS[option]] = amount


def _grouped(flavors: Mapping[str, Mapping[str, JsonObject]]) -> list[JsonObject]:
    groups = dict[frozenset[str], JsonObject]()
    for flavor, resources in flavors.items():
        covered = frozenset(resources)
        if covered not in groups:
            _refuse_contained(covered, groups)
            groups[covered] = {"coveredResources": list(resources), "flavors": []}
        order = groups[covered]["coveredResources"]
        groups[covered]["flavors"].append({"name": flavor, "resources": [resources[name] for name in order]})
    return list(groups.values())


def _refuse_contained(covered: frozenset[str], groups: Mapping[frozenset[str], JsonObject]) -> None:
    if any(covered <= other for other in groups):
        names = ", ".join(sorted(covered))
        raise QuotaError(
            f"resources {names} are a subset of another flavor's: specify the same resources for both flavors"
        )
