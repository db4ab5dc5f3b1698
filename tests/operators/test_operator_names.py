"""Names of operators, the definitions of their kinds, and the permissions of their stand-ins."""

import pytest

from kit.apiserver import ADMIN, running_apiserver
from kohort.api.errors import ApiError
from kohort.kube.client import Client
from kohort.operators.builtin import STAND_INS
from kohort.operators.definitions import DEFINITIONS, definition, install_definition
from kohort.operators.names import OPERATORS, operator_names, stand_in_text
from kohort.operators.permissions import permissions

ALL_STAND_INS = tuple(each for found in STAND_INS.values() for each in found)


def test_each_operator_has_its_kinds() -> None:
    kinds = {name: tuple(each.resource.kind for each in found) for name, found in STAND_INS.items()}
    assert kinds == {name: each.kinds for name, each in OPERATORS.items()}
    titles = {name: {each.operator for each in found} for name, found in STAND_INS.items()}
    assert titles == {name: {each.title} for name, each in OPERATORS.items()}


def test_a_list_of_operators_is_checked() -> None:
    assert operator_names("all") == tuple(OPERATORS)
    assert operator_names(" jobset,jobset ") == ("jobset",)
    for wrong in ("", "jobsets"):
        with pytest.raises(ApiError, match="expected all, or some of jobset"):
            operator_names(wrong)
    assert stand_in_text("jobset") == "stand-in for the JobSet operator (JobSet)"


async def test_definitions_are_created_once_and_never_changed() -> None:
    async with running_apiserver() as server:
        client = Client(server.core.transport(ADMIN), server.clock)
        for stand_in in ALL_STAND_INS:
            users = definition(stand_in)
            users["metadata"]["annotations"] = {"applied-by": "user"}
            await client.of(DEFINITIONS).create(users)
            await install_definition(client, stand_in)
            found = await client.of(DEFINITIONS).get(("", users["metadata"]["name"]))
            assert found["metadata"]["annotations"] == {"applied-by": "user"}


def test_the_role_grants_neither_secrets_nor_writes_of_jobs() -> None:
    rules = [each.rule() for each in permissions(ALL_STAND_INS)]
    assert not any({"secrets", "*"} & set(rule["resources"]) for rule in rules)
    for stand_in in ALL_STAND_INS:
        own = [rule for rule in rules if stand_in.resource.plural in rule["resources"]]
        created_by_others = [each for each in ALL_STAND_INS if stand_in.resource in [c.resource for c in each.children]]
        assert created_by_others or not any({"update", "patch", "create"} & set(rule["verbs"]) for rule in own)
