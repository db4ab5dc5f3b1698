"""The permissions that a manager requires at its start are those that `kohort install` grants (API-151)."""

import msgspec
import pytest

from kohort.api.config.common import Integrations
from kohort.api.config.frameworks import BUILT_IN_FRAMEWORKS
from kohort.api.config.loading import default_configuration
from kohort.api.permissions import Permission
from kohort.controllers.context import ManagerSettings
from kohort.install.permissions import IN_OWN_NAMESPACE, manager_permissions
from kohort.jobs.builtin import all_frameworks, built_in_frameworks
from kohort.jobs.registry import registry_of
from kohort.manager.permissions import RequiredPermission, framework_permissions, startup_permissions

MANAGER = manager_permissions(built_in_frameworks())

HOME = "kueue-system"


def asked() -> list[RequiredPermission]:
    every = Integrations(frameworks=tuple(BUILT_IN_FRAMEWORKS))
    configuration = msgspec.structs.replace(default_configuration(), integrations=every)
    registry = registry_of(configuration, all_frameworks())
    return [
        *startup_permissions(ManagerSettings(configuration, namespace=HOME)),
        *framework_permissions(registry),
    ]


def grants(permission: Permission, right: RequiredPermission) -> bool:
    resource = f"{right.resource}/{right.subresource}" if right.subresource else right.resource
    is_meant = permission.group == right.group and resource in permission.resources and not permission.names
    return is_meant and right.verb in permission.verbs


@pytest.mark.parametrize("right", dict.fromkeys(asked()), ids=str)
def test_a_required_permission_is_granted(right: RequiredPermission) -> None:
    everywhere = any(grants(permission, right) for permission in MANAGER)
    at_home = right.namespace == HOME and any(grants(permission, right) for permission in IN_OWN_NAMESPACE)
    assert everywhere or at_home
