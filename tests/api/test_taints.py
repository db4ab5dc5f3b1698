"""Which tolerations cover which taints, and what is wrong with those that make no sense."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.fields import ErrorKind, Path
from kohort.api.meta import TAINT_EFFECTS, Taint, Toleration
from kohort.api.taints import taint_errors, tolerates, toleration_errors, untolerated

KEYS = st.sampled_from(["a", "b"])
VALUES = st.sampled_from(["", "x", "5"])
TAINTS = st.builds(Taint, key=KEYS, effect=st.sampled_from(TAINT_EFFECTS), value=VALUES)
TOLERATIONS = st.builds(
    Toleration,
    key=st.sampled_from(["", "a", "b"]),
    operator=st.sampled_from(["", "Equal", "Exists", "Gt", "Lt"]),
    value=VALUES,
    effect=st.sampled_from(["", *TAINT_EFFECTS]),
)


def taint(text: str) -> Taint:
    """`key=value:Effect`."""
    pair, effect = text.split(":")
    key, _, value = pair.partition("=")
    return Taint(key=key, value=value, effect=effect)


def toleration(key: str = "", operator: str = "", value: str = "", effect: str = "") -> Toleration:
    return Toleration(key=key, operator=operator, value=value, effect=effect)


@pytest.mark.parametrize(
    ("given_toleration", "given_taint", "covered"),
    [
        (toleration("k", "Exists"), "k=v:NoSchedule", True),
        (toleration("k", "Exists"), "other=v:NoSchedule", False),
        (toleration("k", "Equal", "v"), "k=v:NoSchedule", True),
        (toleration("k", "", "v"), "k=v:NoSchedule", True),
        (toleration("k", "Equal", "v"), "k=w:NoSchedule", False),
        (toleration("k", "Equal"), "k:NoExecute", True),
        (toleration("", "Exists"), "k=v:NoExecute", True),
        (toleration("", "Exists", effect="NoSchedule"), "k=v:NoExecute", False),
        (toleration("k", "Exists", effect="NoExecute"), "k=v:NoExecute", True),
        (toleration("k", "Like", "v"), "k=v:NoSchedule", False),
        (toleration("k", "Gt", "5"), "k=6:NoSchedule", True),
        (toleration("k", "Gt", "5"), "k=5:NoSchedule", False),
        (toleration("k", "Lt", "5"), "k=-4:NoSchedule", True),
        (toleration("k", "Lt", "5"), "k=5:NoSchedule", False),
        (toleration("k", "Lt", "5"), "k=x:NoSchedule", False),
        (toleration("k", "Gt", "x"), "k=6:NoSchedule", False),
        (toleration("k", "Gt", "5"), "k=06:NoSchedule", False),
    ],
)
def test_a_toleration_covers_a_taint(given_toleration: Toleration, given_taint: str, covered: bool) -> None:
    """SCH-512, numeric operators included."""
    assert tolerates(given_toleration, taint(given_taint)) is covered


@given(TAINTS)
def test_exists_without_a_key_covers_every_taint(any_taint: Taint) -> None:
    assert tolerates(toleration("", "Exists"), any_taint)


@given(TAINTS, TOLERATIONS)
def test_naming_no_effect_covers_what_naming_the_effect_covers(any_taint: Taint, each: Toleration) -> None:
    broad = toleration(each.key, each.operator, each.value)
    exact = toleration(each.key, each.operator, each.value, any_taint.effect)
    assert tolerates(broad, any_taint) == tolerates(exact, any_taint)


@given(st.lists(TAINTS, max_size=4), st.lists(TOLERATIONS, max_size=3), TOLERATIONS)
def test_one_more_toleration_never_keeps_a_pod_away(
    taints: list[Taint], tolerations: list[Toleration], more: Toleration
) -> None:
    assert set(untolerated(taints, [*tolerations, more])) <= set(untolerated(taints, tolerations))


def test_only_effects_that_block_placing_count() -> None:
    """SCH-512, TAS-45."""
    taints = [taint("a:PreferNoSchedule"), taint("b:NoSchedule"), taint("c:NoExecute"), taint("d:NoSchedule")]
    assert untolerated(taints, [toleration("d", "Exists")]) == (taint("b:NoSchedule"), taint("c:NoExecute"))


def test_the_effects_that_count_can_be_chosen() -> None:
    taints = [taint("a:PreferNoSchedule"), taint("b:NoSchedule")]
    assert untolerated(taints, [], effects=("PreferNoSchedule",)) == (taint("a:PreferNoSchedule"),)


@pytest.mark.parametrize(
    ("texts", "path", "kind"),
    [
        (["@k:NoSchedule"], "t[0].key", ErrorKind.INVALID),
        ([":NoSchedule"], "t[0].key", ErrorKind.INVALID),
        (["k=a b:NoSchedule"], "t[0].value", ErrorKind.INVALID),
        (["k:NoSchedule", "k=x:NoSchedule"], "t[1]", ErrorKind.DUPLICATE),
    ],
)
def test_a_bad_taint_is_reported_at_its_field(texts: list[str], path: str, kind: ErrorKind) -> None:
    """API-37."""
    errors = taint_errors([taint(text) for text in texts], Path("t"))
    assert [(str(error.path), error.kind, error.rule) for error in errors] == [(path, kind, "API-37")]


def test_a_key_may_have_several_effects() -> None:
    """API-37."""
    assert taint_errors([taint("k:NoSchedule"), taint("k:NoExecute")], Path("t")) == []


def test_a_toleration_with_a_bad_key_is_reported_at_it() -> None:
    """API-38."""
    errors = toleration_errors([toleration("k", "Exists"), toleration("@", "Exists")], Path("t"))
    assert [(str(error.path), error.kind, error.rule) for error in errors] == [
        ("t[1].key", ErrorKind.INVALID, "API-38")
    ]


def test_a_toleration_without_a_key_is_not_checked_by_the_webhook() -> None:
    """API-38: that part is a rule of the schema."""
    assert toleration_errors([toleration("", "Exists"), toleration(value="x")], Path("t")) == []
