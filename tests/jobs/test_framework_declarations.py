"""What a framework declares reaches the installation, the registry and the documentation (JOB-92)."""

from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from jobs.simulations import simulation_framework
from kohort.api.config.common import Integrations
from kohort.api.config.frameworks import BUILT_IN_FRAMEWORKS, FURTHER_FRAMEWORKS
from kohort.api.config.v1beta2 import Configuration
from kohort.api.core.pods import Pod
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.install.options import default_integrations
from kohort.install.permissions import manager_permissions
from kohort.install.roles import user_roles
from kohort.jobs.builtin import built_in_frameworks, known_frameworks
from kohort.jobs.contract import UserRoles, WatchedKind
from kohort.jobs.reference import page, readme_table
from kohort.jobs.registry import registry_of
from kohort.webhooks.jobs import framework_registrations

Json = Any

ROOT = Path(__file__).parents[2]
DECLARED = type(simulation_framework())


class GatedFramework(DECLARED):  # type: ignore[valid-type, misc]
    gate: ClassVar[Gate | None] = Gate.SparkApplicationIntegration
    user_roles: ClassVar[UserRoles | None] = UserRoles(for_batch_users=False)
    watches: ClassVar[tuple[WatchedKind, ...]] = (WatchedKind(Pod.resource, lambda _obj, _reads: ()),)


def rules(roles: list[Json]) -> set[tuple[str, str]]:
    found = [rule for role in roles for rule in role.get("rules", ())]
    return {(resource, verb) for rule in found for resource in rule.get("resources", ()) for verb in rule["verbs"]}


def test_the_installation_grants_what_a_framework_declares() -> None:
    framework = GatedFramework()
    granted = rules([{"rules": [each.rule() for each in manager_permissions([framework])]}])
    assert {("simulations", "patch"), ("simulations/finalizers", "update"), ("simulations", "watch")} <= granted
    assert {each.name for each in framework_registrations([framework])} == {"msimulation.kb.io", "vsimulation.kb.io"}
    editors = [each for each in user_roles([framework]) if each["metadata"]["name"] == "kueue-simulation-editor-role"]
    assert ("simulations", "create") in rules(editors)


def test_watched_kinds_are_readable() -> None:
    watched = [each for each in GatedFramework().permissions if each.resources == ("pods",)]
    assert [set(each.verbs) for each in watched] == [{"get", "list", "watch"}]


def test_a_role_that_is_not_for_batch_users_lacks_their_label() -> None:
    roles = {each["metadata"]["name"]: each for each in user_roles([GatedFramework()])}
    viewer = roles["kueue-simulation-viewer-role"]
    assert "rbac.kueue.x-k8s.io/batch-user" not in viewer["metadata"]["labels"]


@pytest.mark.parametrize("is_on", [False, True])
def test_a_framework_is_enabled_only_with_its_gate(is_on: bool) -> None:
    framework = GatedFramework()
    on = DEFAULT_GATES.on | {Gate.SparkApplicationIntegration}
    gates = FeatureGates(on) if is_on else DEFAULT_GATES
    configuration = replace(Configuration(), integrations=Integrations(frameworks=(framework.name,)))
    registry = registry_of(configuration, [framework], gates)
    assert registry.enabled == ({framework.name} if is_on else frozenset())
    assert set(registry.frameworks) == {framework.name}, "its webhooks allow everything (JOB-75)"


def test_declarations_agree_with_the_integrations_of_kueue() -> None:
    """MK-93: which jobs can be dispatched to worker clusters."""
    ours = known_frameworks(built_in_frameworks())
    both = BUILT_IN_FRAMEWORKS.keys() & {each.name for each in built_in_frameworks()}
    assert {name: ours[name] for name in both} == {name: BUILT_IN_FRAMEWORKS[name] for name in both}


def test_the_names_of_all_other_frameworks_are_known_to_the_configuration() -> None:
    ours = known_frameworks(built_in_frameworks())
    assert {name: known for name, known in ours.items() if name not in BUILT_IN_FRAMEWORKS} == FURTHER_FRAMEWORKS


def test_an_installation_enables_the_integrations_of_kueue_that_are_supported() -> None:
    enabled = default_integrations()
    assert {"batch/job", "pod", "deployment", "statefulset"} <= set(enabled)
    assert set(enabled) <= {each.name for each in built_in_frameworks()} & BUILT_IN_FRAMEWORKS.keys()


def test_the_reference_page_and_the_readme_are_up_to_date() -> None:
    """If this fails: `make docs`, and copy the table into README.md."""
    assert (ROOT / "docs/reference/frameworks.md").read_text("utf-8") == page()
    assert readme_table() in (ROOT / "README.md").read_text("utf-8")
