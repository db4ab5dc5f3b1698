"""Manifests that request what is not supported, or are of a kind that is not known: W401, W402."""

from typing import Any

from api.manifest_sets import QUEUE, flavor, job, kueue, report, warnings
from kohort.api.manifests.codes import WarningCode
from kohort.api.manifests.known_kinds import KUBERNETES_KINDS, is_known_kind
from kohort.embedded.kinds.catalog import builtin_resources

Json = Any
NOT_SUPPORTED = "is not supported by this version of Kohort yet"


def foreign(api_version: str, kind: str, **labels: str) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "ns", "labels": labels}}


def found(*values: Json) -> list[tuple[str, str, str]]:
    """Code, field and message of each of these warnings."""
    codes = (WarningCode.NOT_SUPPORTED.value, WarningCode.UNKNOWN_KIND.value)
    return [(each.code, each.field, each.message) for each in report(*values).findings if each.code in codes]


class TestNotSupported:
    def test_a_kind_of_a_missing_capability(self) -> None:
        ((code, field, _),) = found(kueue("MultiKueueConfig", "x", clusters=["a"]))
        assert (code, field) == ("W401", "")

    def test_a_provisioning_request_check_is_supported(self) -> None:
        check = kueue("AdmissionCheck", "x", controllerName="kueue.x-k8s.io/provisioning-request")
        assert found(kueue("ProvisioningRequestConfig", "x", provisioningClassName="c"), check) == []

    def test_a_setting_of_the_configuration(self) -> None:
        settings = {"multiKueue": {"dispatcherName": "example.com/mine"}, "featureGates": {"MultiKueue": True}}
        head = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
        assert {(code, field) for code, field, _ in found({**head, **settings})} == {
            ("W401", "multiKueue.dispatcherName"),
            ("W401", "featureGates[MultiKueue]"),
        }

    def test_topologies_are_supported(self) -> None:
        assert found(flavor(), kueue("Topology", "t", levels=[{"nodeLabel": "rack"}]), job()) == []


class TestUnknownKinds:
    def test_the_kind_is_named(self) -> None:
        ((code, field, message),) = found(foreign("batch/v1", "Jobb"))
        assert (code, field) == ("W402", "kind")
        assert message == "unknown kind Jobb in batch/v1, only its metadata was checked"

    def test_one_that_names_a_queue_is_not_queued(self) -> None:
        ((code, field, message),) = found(foreign("example.com/v1", "Sweep", **{QUEUE: "lq"}))
        assert (code, field) == ("W402", f"metadata.labels[{QUEUE}]")
        assert "no Workload is created for it unless integrations.externalFrameworks" in message

    def test_kinds_of_kubernetes_are_known(self) -> None:
        assert [each.kind for each in builtin_resources() if not is_known_kind(each.group, each.kind)] == []
        assert all(kinds for kinds in KUBERNETES_KINDS.values())
        assert warnings(foreign("v1", "ConfigMap"), foreign("rbac.authorization.k8s.io/v1", "Role")) == []
