"""Views name the fields that Kohort reads, tolerate absent ones, and encode to what they were decoded from."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from api.core.unknown_fields import unknown_fields
from kohort.api import core
from kohort.api.codec import decode, encode
from kohort.api.core.affinity import Affinity
from kohort.api.core.apps import StatefulSet
from kohort.api.core.batch import CronJob, Job
from kohort.api.core.bodies import Status
from kohort.api.core.containers import Container
from kohort.api.core.events import Event
from kohort.api.core.leases import Lease, LeaseSpec
from kohort.api.core.namespaces import LimitRange
from kohort.api.core.nodes import Node, PriorityClass, RuntimeClass
from kohort.api.core.objects import KindView, encode_view
from kohort.api.core.pods import Pod, PodSpec, PodTemplateSpec
from kohort.api.core.reviews import SubjectAccessReview, TokenReview, TokenReviewSpec
from kohort.api.docstrings import field_descriptions
from kohort.api.errors import DecodeError
from kohort.api.schema import Schema, schema_of

VIEWS = core.views()


def seen(view: type[KindView], value: dict[str, Any]) -> Any:
    """The value through the view, which must have every member of it."""
    assert unknown_fields(value, view) == []
    return decode(encode(value), view)


def nodes(schema: Schema) -> Iterator[Schema]:
    yield schema
    for below in (*schema.properties.values(), schema.additional, schema.items):
        if below is not None:
            yield from nodes(below)


def test_views_are_found_without_being_listed() -> None:
    assert {Pod, Job, Status, Lease} <= set(VIEWS)


def test_no_two_views_are_of_the_same_kind() -> None:
    names = [(view.API_VERSION, view.KIND) for view in VIEWS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.__name__)
class TestEveryView:
    def test_forgives_an_empty_object(self, view: type[KindView]) -> None:
        assert decode(b"{}", view) == view()

    def test_writes_nothing_it_was_not_given(self, view: type[KindView]) -> None:
        assert encode(view()) == b"{}"

    def test_documents_its_meaning(self, view: type[KindView]) -> None:
        assert (view.resource.api_version, view.resource.kind) == (view.API_VERSION, view.KIND)
        assert view.resource.plural == view.resource.plural.lower()

    def test_explains_itself(self, view: type[KindView]) -> None:
        assert view.__doc__

    def test_unknown_members_are_ignored(self, view: type[KindView]) -> None:
        assert decode(b'{"noSuchMember": {"x": [1]}}', view) == view()


class TestPodTemplates:
    SCHEMA = schema_of(PodTemplateSpec)

    def test_containers_are_required_and_merged_by_name(self) -> None:
        spec = self.SCHEMA.properties["spec"]
        merge = spec.properties["containers"].merge
        assert spec.required == ("containers",)
        assert merge is not None
        assert (merge.list_type, merge.keys) == ("map", ("name",))

    def test_a_container_needs_a_name(self) -> None:
        assert schema_of(Container).required == ("name",)
        with pytest.raises(DecodeError, match="name"):
            decode(b'{"containers": [{}]}', PodSpec)

    def test_every_merge_key_is_required_as_api_servers_demand(self) -> None:
        lists = [node for node in nodes(self.SCHEMA) if node.merge is not None and node.merge.keys]
        assert lists
        for node in lists:
            assert node.items is not None
            assert node.merge is not None
            assert set(node.merge.keys) <= set(node.items.required)

    def test_every_field_is_described(self) -> None:
        structs = {node.struct for node in nodes(self.SCHEMA) if node.struct is not None}
        silent = [
            f"{struct.__name__}.{field.name}"
            for struct in structs
            for field in msgspec.structs.fields(struct)
            if not field_descriptions(struct).get(field.name)
        ]
        assert silent == []


def test_a_pod_is_read_with_its_irregular_names() -> None:
    pod = seen(
        Pod,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "ownerReferences": [{"kind": "Job", "name": "j", "controller": True}]},
            "spec": {
                "nodeName": "n1",
                "priority": 7,
                "overhead": {"cpu": "10m"},
                "resources": {"requests": {"cpu": 2}},
                "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}],
                "volumes": [{"name": "v", "downwardAPI": {"items": []}}],
                "initContainers": [{"name": "side", "restartPolicy": "Always"}, {"name": "first"}],
                "containers": [
                    {
                        "name": "c",
                        "ports": [{"containerPort": 80, "hostIP": "10.0.0.1"}],
                        "resources": {"limits": {"nvidia.com/gpu": 1}, "claims": [{"name": "gpu"}]},
                    }
                ],
                "tolerations": [{"key": "spot", "operator": "Exists"}],
                "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
            },
            "status": {
                "phase": "Running",
                "podIP": "10.1.0.1",
                "hostIP": "10.0.0.1",
                "conditions": [{"type": "Ready", "status": "True", "lastProbeTime": None}],
                "containerStatuses": [
                    {"name": "c", "containerID": "x", "imageID": "y", "state": {"terminated": {"exitCode": 3}}}
                ],
            },
        },
    )
    assert [each.is_sidecar for each in pod.spec.init_containers] == [True, False]
    assert pod.spec.containers[0].ports[0].host_ip == "10.0.0.1"
    assert (pod.status.pod_ip, pod.status.host_ip) == ("10.1.0.1", "10.0.0.1")
    assert pod.status.container_statuses[0].state.terminated.exit_code == 3
    assert pod.status.container_statuses[0].container_id == "x"


def test_affinity_is_read_to_its_leaves() -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    near = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "zone"}
    value = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": term}],
        },
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]},
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": near}]
        },
    }
    affinity = decode(encode(value), Affinity)
    assert unknown_fields(value, Affinity) == []
    assert msgspec.json.decode(encode(affinity)) == value


def test_a_job_distinguishes_absent_counts_from_zero() -> None:
    """JOB-99, JOB-103, JOB-104."""
    job = seen(
        Job,
        {
            "spec": {
                "parallelism": 0,
                "suspend": True,
                "managedBy": "kueue.x-k8s.io/multikueue",
                "podFailurePolicy": {
                    "rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}]
                },
                "successPolicy": {"rules": []},
            },
            "status": {
                "completedIndexes": "1,3-5",
                "ready": 1,
                "uncountedTerminatedPods": {"succeeded": ["u"]},
                "startTime": "2026-01-01T00:00:00Z",
            },
        },
    )
    assert (job.spec.parallelism, job.spec.completions) == (0, None)
    assert job.status.uncounted_terminated_pods.succeeded == ("u",)
    assert job.status.start_time.year == 2026


def test_a_cron_job_holds_a_job_template() -> None:
    """JOB-194."""
    cron = seen(CronJob, {"spec": {"jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {"completions": 2}}}})
    assert (cron.spec.job_template.metadata.labels, cron.spec.job_template.spec.completions) == ({"a": "b"}, 2)


def test_a_stateful_set_shows_its_revisions() -> None:
    """JOB-179."""
    status = {"currentRevision": "a", "updateRevision": "b", "readyReplicas": 1}
    found = seen(StatefulSet, {"spec": {"ordinals": {"start": 2}}, "status": status}).status
    assert (found.current_revision, found.update_revision, found.ready_replicas) == ("a", "b", 1)


def test_a_node_shows_what_scheduling_reads() -> None:
    """TAS-19."""
    node = seen(
        Node,
        {
            "spec": {"unschedulable": True, "providerID": "x", "taints": [{"key": "k", "effect": "NoSchedule"}]},
            "status": {"allocatable": {"cpu": "4", "pods": 110}, "conditions": [{"type": "Ready", "status": "True"}]},
        },
    )
    assert node.spec.unschedulable
    assert node.status.allocatable == {"cpu": "4", "pods": 110}


def test_limits_defaults_and_overhead_are_read_as_written() -> None:
    """SCH-120, SCH-121."""
    item = {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "500m"}, "max": {"cpu": 2}}
    limits = seen(LimitRange, {"spec": {"limits": [item]}}).spec.limits[0]
    assert (limits.default, limits.default_request, limits.max) == ({"cpu": "1"}, {"cpu": "500m"}, {"cpu": 2})
    assert seen(RuntimeClass, {"overhead": {"podFixed": {"cpu": "1"}}}).overhead.pod_fixed == {"cpu": "1"}


def test_a_priority_class_has_its_value_at_the_top() -> None:
    assert seen(PriorityClass, {"value": 5, "globalDefault": True}).value == 5


def test_an_event_names_its_object() -> None:
    time = "2026-01-01T00:00:00.000000Z"
    new = seen(Event, {"regarding": {"name": "w"}, "eventTime": time, "note": "n"})
    assert new.regarding.name == "w"
    assert new.event_time == time


def test_a_lease_keeps_the_six_decimals_that_api_servers_demand() -> None:
    value = {"spec": {"renewTime": "2026-01-01T00:00:00.000000Z", "leaseDurationSeconds": 15}}
    assert msgspec.json.decode(encode(seen(Lease, value))) == value


def test_a_review_is_decoded_and_its_response_encoded() -> None:
    value = {
        "spec": {"user": "u", "extra": {"k": ["v"]}, "resourceAttributes": {"verb": "get"}},
        "status": {"allowed": True},
    }
    review = seen(SubjectAccessReview, value)
    assert (review.spec.user, review.spec.resource_attributes.verb, review.status.allowed) == ("u", "get", True)


def test_a_token_is_not_printed() -> None:
    assert "hush" not in repr(TokenReview(spec=TokenReviewSpec(token="hush")))  # noqa: S106


def test_a_refusal_shows_its_causes() -> None:
    """API-9."""
    cause = {"reason": "FieldValueInvalid", "message": "m", "field": "spec.x"}
    status = seen(Status, {"kind": "Status", "code": 422, "reason": "Invalid", "details": {"causes": [cause]}})
    assert (status.code, status.details.causes[0].field) == (422, "spec.x")


def test_an_encoded_view_has_its_api_version_and_kind() -> None:
    lease = Lease(spec=LeaseSpec(holder_identity="a"))
    assert msgspec.json.decode(encode_view(lease)) == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "spec": {"holderIdentity": "a"},
    }
