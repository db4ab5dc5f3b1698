"""The official Python client: typed, dynamic and custom objects; watches; server-side apply; rejections."""

from typing import Any

import kubernetes.client
import kubernetes.dynamic
import kubernetes.watch

from conformance.differences import PAGES
from conformance.script import ClientCall, Script

Json = Any
Api = Any
# Half of the client has no types, and in the other half everything may be None.
client: Any = kubernetes.client
dynamic: Any = kubernetes.dynamic
watch: Any = kubernetes.watch


def _config_map(name: str, **data: str) -> Json:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"by": "python"}), data=data)


def _job(name: str) -> Json:
    container = client.V1Container(name="c", image="busybox", resources={"requests": {"cpu": "100m"}})
    template = client.V1PodTemplateSpec(spec=client.V1PodSpec(containers=[container], restart_policy="Never"))
    return client.V1Job(metadata=client.V1ObjectMeta(name=name), spec=client.V1JobSpec(template=template, suspend=True))


def creates_a_config_map(api: Api, namespace: str) -> Json:
    return client.CoreV1Api(api).create_namespaced_config_map(namespace, _config_map("one", a="1"))


def creates_it_again(api: Api, namespace: str) -> Json:
    return client.CoreV1Api(api).create_namespaced_config_map(namespace, _config_map("one", a="1"))


def reads_it(api: Api, namespace: str) -> Json:
    return client.CoreV1Api(api).read_namespaced_config_map("one", namespace)


def reads_what_is_not_there(api: Api, namespace: str) -> Json:
    return client.CoreV1Api(api).read_namespaced_config_map("absent", namespace)


def patches_it(api: Api, namespace: str) -> Json:
    return client.CoreV1Api(api).patch_namespaced_config_map("one", namespace, {"data": {"b": "2"}})


def patches_it_by_operations(api: Api, namespace: str) -> Json:
    patch = [{"op": "add", "path": "/data/c", "value": "3"}]
    return client.CoreV1Api(api).patch_namespaced_config_map("one", namespace, patch)


def replaces_it(api: Api, namespace: str) -> Json:
    return client.CoreV1Api(api).replace_namespaced_config_map("one", namespace, _config_map("one", z="26"))


def replaces_a_stale_one(api: Api, namespace: str) -> Json:
    stale = _config_map("one", y="25")
    stale.metadata.resource_version = "1"
    return client.CoreV1Api(api).replace_namespaced_config_map("one", namespace, stale)


def lists_by_label(api: Api, namespace: str) -> Json:
    return client.CoreV1Api(api).list_namespaced_config_map(namespace, label_selector="by=python")


def lists_page_by_page(api: Api, namespace: str) -> Json:
    core = client.CoreV1Api(api)
    core.create_namespaced_config_map(namespace, _config_map("two"))
    first = core.list_namespaced_config_map(namespace, label_selector="by=python", limit=1)
    second = core.list_namespaced_config_map(
        namespace, label_selector="by=python", limit=1, _continue=first.metadata._continue
    )
    return [[each.metadata.name for each in page.items] for page in (first, second)]


def continues_after_an_invalid_page(api: Api, namespace: str) -> Json:
    return client.CoreV1Api(api).list_namespaced_config_map(namespace, limit=1, _continue="nonsense")


def lists_from_the_future(api: Api, namespace: str) -> Json:
    return client.CoreV1Api(api).list_namespaced_config_map(namespace, resource_version="9000000000000000000")


def creates_a_job(api: Api, namespace: str) -> Json:
    return client.BatchV1Api(api).create_namespaced_job(namespace, _job("work"))


def creates_a_wrong_job(api: Api, namespace: str) -> Json:
    wrong = _job("wrong")
    wrong.spec.parallelism = -1
    return client.BatchV1Api(api).create_namespaced_job(namespace, wrong)


def writes_the_status_of_a_job(api: Api, namespace: str) -> Json:
    return client.BatchV1Api(api).patch_namespaced_job_status("work", namespace, {"status": {"active": 1, "ready": 0}})


def tries_without_effect(api: Api, namespace: str) -> Json:
    return client.BatchV1Api(api).create_namespaced_job(namespace, _job("dry"), dry_run="All", field_manager="me")


def watches_what_is_there(api: Api, namespace: str) -> Json:
    core = client.CoreV1Api(api)
    watching = watch.Watch()
    events = watching.stream(core.list_namespaced_config_map, namespace, label_selector="by=python", timeout_seconds=1)
    return sorted([event["type"], event["object"].metadata.name] for event in events)


def watches_from_too_long_ago(api: Api, namespace: str) -> Json:
    core = client.CoreV1Api(api)
    listed = core.list_namespaced_config_map(namespace)
    core.patch_namespaced_config_map("two", namespace, {"data": {"changed": "yes"}})
    core.delete_namespaced_config_map("two", namespace)
    events = watch.Watch().stream(
        core.list_namespaced_config_map,
        namespace,
        resource_version=listed.metadata.resource_version,
        timeout_seconds=1,
    )
    return [[event["type"], event["object"].metadata.name, event["object"].data] for event in events]


def applies_dynamically(api: Api, namespace: str) -> Json:
    maps = dynamic.DynamicClient(api).resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": "1"}}
    return maps.server_side_apply(body=body, namespace=namespace, field_manager="python").to_dict()


def applies_against_another(api: Api, namespace: str) -> Json:
    maps = dynamic.DynamicClient(api).resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": "2"}}
    return maps.server_side_apply(body=body, namespace=namespace, field_manager="rival").to_dict()


def applies_by_force(api: Api, namespace: str) -> Json:
    maps = dynamic.DynamicClient(api).resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": "2"}}
    return maps.server_side_apply(body=body, namespace=namespace, field_manager="rival", force_conflicts=True).to_dict()


def lists_dynamically(api: Api, namespace: str) -> Json:
    jobs = dynamic.DynamicClient(api).resources.get(api_version="batch/v1", kind="Job")
    return [each.to_dict() for each in jobs.get(namespace=namespace).items]


def finds_no_kind(api: Api, namespace: str) -> Json:
    try:
        dynamic.DynamicClient(api).resources.get(api_version="v1", kind="Nothing")
    except dynamic.exceptions.ResourceNotFoundError as error:
        return str(error)
    return "found"


def lists_custom_objects_that_are_undefined(api: Api, namespace: str) -> Json:
    return client.CustomObjectsApi(api).list_namespaced_custom_object("wire.example.org", "v1", namespace, "things")


def asks_for_rights(api: Api, namespace: str) -> Json:
    attributes = client.V1ResourceAttributes(namespace=namespace, verb="get", resource="pods")
    review = client.V1SelfSubjectAccessReview(spec=client.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes))
    return client.AuthorizationV1Api(api).create_self_subject_access_review(review).status.allowed


def scales_what_is_not_there(api: Api, namespace: str) -> Json:
    return client.AppsV1Api(api).patch_namespaced_deployment_scale("absent", namespace, {"spec": {"replicas": 2}})


def asks_for_the_groups(api: Api, namespace: str) -> Json:
    return [each.preferred_version.group_version for each in client.ApisApi(api).get_api_versions().groups][:3]


def deletes_it(api: Api, namespace: str) -> Json:
    return client.CoreV1Api(api).delete_namespaced_config_map("one", namespace)


def deletes_the_job(api: Api, namespace: str) -> Json:
    return client.BatchV1Api(api).delete_namespaced_job("work", namespace, propagation_policy="Background")


def deletes_what_has_another_identity(api: Api, namespace: str) -> Json:
    options = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="another"))
    return client.CoreV1Api(api).delete_namespaced_config_map("applied", namespace, body=options)


def deletes_a_collection(api: Api, namespace: str) -> Json:
    core = client.CoreV1Api(api)
    core.delete_collection_namespaced_config_map(namespace, field_selector="metadata.name=applied")
    return [each.metadata.name for each in core.list_namespaced_config_map(namespace).items]


CHAPTERS = (
    Script(
        "python",
        (
            ClientCall(creates_a_config_map),
            ClientCall(creates_it_again),
            ClientCall(reads_it),
            ClientCall(reads_what_is_not_there),
            ClientCall(patches_it),
            ClientCall(patches_it_by_operations),
            ClientCall(replaces_it),
            ClientCall(replaces_a_stale_one),
            ClientCall(lists_by_label),
            ClientCall(lists_page_by_page),
            ClientCall(continues_after_an_invalid_page, differs=(PAGES,)),
            ClientCall(lists_from_the_future),
            ClientCall(creates_a_job),
            ClientCall(creates_a_wrong_job),
            ClientCall(writes_the_status_of_a_job),
            ClientCall(tries_without_effect),
            ClientCall(watches_what_is_there),
            ClientCall(watches_from_too_long_ago),
            ClientCall(applies_dynamically),
            ClientCall(applies_against_another),
            ClientCall(applies_by_force),
            ClientCall(lists_dynamically),
            ClientCall(finds_no_kind),
            ClientCall(lists_custom_objects_that_are_undefined),
            ClientCall(asks_for_rights),
            ClientCall(scales_what_is_not_there),
            ClientCall(asks_for_the_groups),
            ClientCall(deletes_it),
            ClientCall(deletes_the_job),
            ClientCall(deletes_what_has_another_identity),
            ClientCall(deletes_a_collection),
        ),
    ),
)
