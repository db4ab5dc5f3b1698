"""What pods and clusters are configured with: ConfigMap, Secret, ServiceAccount.

A Secret never shows its content when printed, so that no log can leak it.
"""

from typing import Any, ClassVar

from kohort.api.core.objects import ObjectReference, ObjectView
from kohort.api.resource import Resource


class ConfigMap(ObjectView):
    """A ConfigMap."""

    resource: ClassVar = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)

    data: dict[str, str] = {}
    binary_data: dict[str, str] = {}
    immutable: bool = False


class Secret(ObjectView):
    """A Secret; values of `data` are base64 as in JSON."""

    resource: ClassVar = Resource("", "v1", "Secret", "secrets", namespaced=True)

    type: str = ""
    data: dict[str, str] = {}
    string_data: dict[str, str] = {}
    immutable: bool = False

    def __repr__(self) -> str:
        return f"Secret({self.metadata.namespace}/{self.metadata.name}, {len(self.data)} keys)"


class ServiceAccount(ObjectView):
    """An identity of pods."""

    resource: ClassVar = Resource("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)

    secrets: tuple[ObjectReference, ...] = ()
    image_pull_secrets: tuple[Any, ...] = ()
    automount_service_account_token: bool | None = None
