"""Permissions of users: by the stored RBAC objects, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.server.objects import binding, role, rule
from kit.apiserver import InMemoryApiServer, Object
from kit.builders.core import make_config_map, make_namespace
from kohort.embedded.auth.attributes import AuthorizationAttributes
from kohort.embedded.auth.escalation import uncovered
from kohort.embedded.auth.rules import PolicyRule
from kohort.embedded.auth.users import ANONYMOUS, User

MAPS = "/api/v1/namespaces/default/configmaps"


def cluster_role(name: str, *rules: Object, labels: dict[str, str] | None = None) -> Object:
    metadata = {"name": name, "labels": labels or {}}
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    return {**head, "metadata": metadata, "rules": list(rules)}


def cluster_binding(name: str, role_name: str, user: str) -> Object:
    found = binding(name, role_name, user, kind="ClusterRole")
    return {**found, "kind": "ClusterRoleBinding", "metadata": {"name": name}}


async def test_without_a_role_nothing_is_allowed(cluster: InMemoryApiServer) -> None:
    reply = await cluster.as_user("jane").request("GET", MAPS)
    assert (reply.status, reply.reason) == (403, "Forbidden")
    assert reply.message == (
        'configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" '
        'in the namespace "default"'
    )
    named = await cluster.as_user("jane").request("GET", "/api/v1/nodes/n1")
    assert named.message == (
        'nodes "n1" is forbidden: User "jane" cannot get resource "nodes" in API group "" at the cluster scope'
    )
    path = await cluster.as_user("jane").request("GET", "/metrics")
    assert path.message == 'forbidden: User "jane" cannot get path "/metrics"'


async def test_a_role_counts_from_the_moment_it_is_bound(cluster: InMemoryApiServer) -> None:
    jane = cluster.as_user("jane")
    await cluster.create(role("reader", rule("configmaps", "get", "list")))
    assert (await jane.request("GET", MAPS)).status == 403
    await cluster.create(binding("jane-reads", "reader", "jane"))
    assert (await jane.request("GET", MAPS)).status == 200
    assert (await jane.try_create(make_config_map("a"))).status == 403
    assert (await jane.request("GET", "/api/v1/namespaces/kube-system/configmaps")).status == 403
    await cluster.request("DELETE", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings/jane-reads")
    assert (await jane.request("GET", MAPS)).status == 403


async def test_a_cluster_role_reaches_as_far_as_its_binding(cluster: InMemoryApiServer) -> None:
    await cluster.create(binding("here", "view", "jane", kind="ClusterRole"))
    await cluster.create(cluster_binding("everywhere", "view", "joe"))
    jane, joe = cluster.as_user("jane"), cluster.as_user("joe")
    assert (await jane.request("GET", MAPS)).status == 200
    assert (await jane.request("GET", "/api/v1/configmaps")).status == 403
    assert (await joe.request("GET", "/api/v1/configmaps")).status == 200
    assert (await joe.request("GET", "/api/v1/secrets")).status == 403


async def test_a_team_works_in_its_namespace_only(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_namespace("team-a"))
    await cluster.create(make_namespace("team-b"))
    await cluster.create(binding("edit", "edit", "jane", namespace="team-a", kind="ClusterRole"))
    jane = cluster.as_user("jane")
    assert (await jane.try_create(make_config_map("a", namespace="team-a"))).status == 201
    assert (await jane.try_create(make_config_map("a", namespace="team-b"))).status == 403
    assert (await jane.try_create(make_namespace("team-c"))).status == 403


async def test_a_name_in_a_rule_is_about_that_object_alone(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_config_map("mine"))
    await cluster.create(role("one", {**rule("configmaps", "get", "watch"), "resourceNames": ["mine"]}))
    await cluster.create(binding("b", "one", "jane"))
    jane = cluster.as_user("jane")
    assert (await jane.request("GET", f"{MAPS}/mine")).status == 200
    assert (await jane.request("GET", f"{MAPS}/other")).status == 403
    watching = await jane.stream("GET", MAPS, watch="1", fieldSelector="metadata.name=mine")
    assert watching.status == 200
    await watching.close()


async def test_a_missing_role_is_named(cluster: InMemoryApiServer) -> None:
    await cluster.create(binding("b", "ghost", "jane"))
    reply = await cluster.as_user("jane").request("GET", MAPS)
    assert 'RBAC: role.rbac.authorization.k8s.io "ghost" not found' in reply.message


async def test_aggregated_roles_follow_their_parts(cluster: InMemoryApiServer) -> None:
    await cluster.create(binding("b", "view", "jane", kind="ClusterRole"))
    jane = cluster.as_user("jane")
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    assert (await jane.request("GET", leases)).status == 403
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    await cluster.create(cluster_role("more", rule("leases", "list", group="coordination.k8s.io"), labels=labels))
    assert (await jane.request("GET", leases)).status == 200
    admin = await cluster.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/admin")
    assert rule("leases", "list", group="coordination.k8s.io") in admin["rules"]


async def test_no_user_grants_missing_permissions(cluster: InMemoryApiServer) -> None:
    manage = [rule("roles rolebindings", "create", group="rbac.authorization.k8s.io"), rule("configmaps", "get")]
    await cluster.create(role("manager", *manage))
    await cluster.create(binding("b", "manager", "jane"))
    jane = cluster.as_user("jane")
    assert (await jane.try_create(role("same", rule("configmaps", "get")))).status == 201
    more = await jane.try_create(role("more", rule("configmaps", "get", "delete")))
    assert more.status == 403
    assert "is attempting to grant RBAC permissions not currently held" in more.message
    assert '{APIGroups:[""], Resources:["configmaps"], Verbs:["delete"]}' in more.message
    assert (await jane.try_create(binding("up", "admin", "jane", kind="ClusterRole"))).status == 403
    assert (await jane.try_create(binding("same", "manager", "joe"))).status == 201


async def test_impersonation_needs_leave(cluster: InMemoryApiServer) -> None:
    as_jane = {"Impersonate-User": "jane", "Impersonate-Group": "team"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    info = (await cluster.request("POST", path, {}, as_jane)).body["status"]["userInfo"]
    assert info == {"username": "jane", "groups": ["team", "system:authenticated"]}
    refused = await cluster.as_user("joe").request("POST", path, {}, as_jane)
    assert refused.status == 403
    assert 'User "joe" cannot impersonate resource "users"' in refused.message
    assert (await cluster.request("GET", "/api", None, {"Impersonate-Group": "team"})).status == 400


async def test_access_reviews_agree_with_requests(cluster: InMemoryApiServer) -> None:
    await cluster.create(role("reader", rule("pods", "get")))
    await cluster.create(binding("b", "reader", "jane"))
    group = "/apis/authorization.k8s.io/v1"

    async def may(verb: str) -> bool:
        asked = {"resourceAttributes": {"namespace": "default", "verb": verb, "resource": "pods"}}
        mine = await cluster.as_user("jane").request("POST", f"{group}/selfsubjectaccessreviews", {"spec": asked})
        hers = await cluster.request("POST", f"{group}/subjectaccessreviews", {"spec": {**asked, "user": "jane"}})
        assert mine.body["status"]["allowed"] is hers.body["status"]["allowed"]
        return bool(mine.body["status"]["allowed"])

    assert await may("get")
    assert not await may("delete")
    rules = await cluster.as_user("jane").request(
        "POST", f"{group}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}
    )
    assert {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]} in rules.body["status"]["resourceRules"]


async def test_anonymous_users_see_health_and_version_only(cluster: InMemoryApiServer) -> None:
    anonymous = InMemoryApiServer(cluster.core, cluster.clock, ANONYMOUS)
    for path in ("/healthz", "/version"):
        assert (await anonymous.request("GET", path)).status == 200
    for path in ("/api", MAPS, "/openapi/v3", "/metrics"):
        assert (await anonymous.request("GET", path)).status == 401


async def test_a_wrong_token_is_not_made_up_for_by_anything(cluster: InMemoryApiServer) -> None:
    anonymous = InMemoryApiServer(cluster.core, cluster.clock, ANONYMOUS)
    assert (await anonymous.request("GET", "/version", None, {"Authorization": "Bearer nonsense"})).status == 401


async def test_tokens_are_reviewed(cluster: InMemoryApiServer) -> None:
    token_path = "/api/v1/namespaces/default/serviceaccounts/default/token"  # noqa: S105 - a path
    token = (await cluster.request("POST", token_path, {"spec": {}})).body["status"]["token"]
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    good = (await cluster.request("POST", path, {"spec": {"token": token}})).body["status"]
    assert good["authenticated"]
    assert good["user"]["username"] == "system:serviceaccount:default:default"
    bad = (await cluster.request("POST", path, {"spec": {"token": "x"}})).body["status"]
    assert not bad.get("authenticated")


WORDS = st.sampled_from(["*", "a", "b"])
RULES = st.builds(
    PolicyRule,
    st.frozensets(WORDS, min_size=1),
    st.frozensets(WORDS, min_size=1),
    st.frozensets(st.sampled_from(["*", "a", "b", "a/s", "*/s"]), min_size=1),
    st.frozensets(st.sampled_from(["x", "y"])),
)
QUESTIONS = st.builds(
    AuthorizationAttributes,
    st.sampled_from("abc"),
    st.sampled_from("abc"),
    st.sampled_from("abc"),
    st.sampled_from(["", "s", "t"]),
)


@given(st.lists(RULES, max_size=3), RULES, QUESTIONS, st.sampled_from(["", "x", "z"]))
def test_what_is_covered_allows_nothing_new(
    held: list[PolicyRule], wanted: PolicyRule, asked: AuthorizationAttributes, name: str
) -> None:
    question = AuthorizationAttributes(asked.verb, asked.group, asked.resource, asked.subresource, name=name)
    if not uncovered(held, [wanted]) and wanted.allows(question):
        assert any(rule.allows(question) for rule in held)


@given(RULES, QUESTIONS)
def test_the_atoms_of_a_rule_allow_what_it_allows(rule: PolicyRule, asked: AuthorizationAttributes) -> None:
    assert rule.allows(asked) == any(atom.allows(asked) for atom in rule.atoms())


@pytest.mark.parametrize(
    ("name", "expected"),
    [("system:serviceaccount:a:b", ("a", "b")), ("system:serviceaccount:a", None), ("jane", None)],
)
def test_service_accounts_are_known_by_their_name(name: str, expected: tuple[str, str] | None) -> None:
    assert User(name).service_account == expected
