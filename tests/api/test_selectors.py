"""What selectors match, and what is wrong with those that make no sense."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.codec import from_json
from kohort.api.core.affinity import NodeSelectorRequirement, NodeSelectorTerm
from kohort.api.core.pods import PodSpec
from kohort.api.fields import ErrorKind, Path
from kohort.api.meta import LabelSelector, LabelSelectorRequirement
from kohort.api.selectors import (
    EVERYTHING,
    NOTHING,
    RequiredNodes,
    Selector,
    SelectorError,
    compile_selector,
    node_term,
    required_nodes,
    requirement,
    selector_errors,
)

KEYS = st.sampled_from(["a", "b", "example.com/c"])
VALUES = st.sampled_from(["", "x", "y", "7", "3.5"])
LABELS = st.dictionaries(KEYS, VALUES)
SOME_VALUES = st.lists(VALUES, min_size=1, max_size=3)


def selector(value: dict[str, Any]) -> LabelSelector:
    return from_json(value, LabelSelector)


def compiled(*expressions: tuple[str, str, list[str]], **labels: str) -> Selector:
    demands = tuple(LabelSelectorRequirement(key=k, operator=o, values=tuple(v)) for k, o, v in expressions)
    return compile_selector(LabelSelector(match_labels=labels, match_expressions=demands))


def nodes(affinity: Any = None, **node_selector: str) -> RequiredNodes:
    """The nodes that a pod with these terms of required affinity may use."""
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": affinity}}
    parts = {} if affinity is None else {"affinity": {"nodeAffinity": required}}
    return required_nodes(from_json({"containers": [], "nodeSelector": node_selector, **parts}, PodSpec))


def on_labels(*demands: tuple[str, str, list[str]]) -> dict[str, Any]:
    return {"matchExpressions": [{"key": k, "operator": o, "values": v} for k, o, v in demands]}


def on_fields(*demands: tuple[str, str, list[str]]) -> dict[str, Any]:
    return {"matchFields": [{"key": k, "operator": o, "values": v} for k, o, v in demands]}


class TestLabelSelectors:
    @given(LABELS)
    def test_an_absent_selector_matches_nothing_and_an_empty_one_everything(self, labels: dict[str, str]) -> None:
        """SCH-125."""
        assert not compile_selector(None).matches(labels)
        assert compile_selector(LabelSelector()).matches(labels)

    @given(KEYS, SOME_VALUES, LABELS)
    def test_not_in_is_the_complement_of_in(self, key: str, values: list[str], labels: dict[str, str]) -> None:
        assert compiled((key, "In", values)).matches(labels) != compiled((key, "NotIn", values)).matches(labels)

    @given(KEYS, LABELS)
    def test_does_not_exist_is_the_complement_of_exists(self, key: str, labels: dict[str, str]) -> None:
        assert compiled((key, "Exists", [])).matches(labels) == (key in labels)
        assert compiled((key, "DoesNotExist", [])).matches(labels) == (key not in labels)

    @given(KEYS, SOME_VALUES, LABELS)
    def test_in_holds_for_a_present_key_with_one_of_the_values(
        self, key: str, values: list[str], labels: dict[str, str]
    ) -> None:
        assert compiled((key, "In", values)).matches(labels) == (key in labels and labels[key] in values)

    @given(LABELS, LABELS)
    def test_match_labels_require_exactly_these_pairs(self, wanted: dict[str, str], labels: dict[str, str]) -> None:
        found = compile_selector(LabelSelector(match_labels=wanted)).matches(labels)
        assert found == (wanted.items() <= labels.items())

    @given(KEYS, SOME_VALUES, LABELS, LABELS)
    def test_all_parts_must_hold(
        self, key: str, values: list[str], wanted: dict[str, str], labels: dict[str, str]
    ) -> None:
        demand = LabelSelectorRequirement(key=key, operator="NotIn", values=tuple(values))
        parts = (LabelSelector(match_labels=wanted), LabelSelector(match_expressions=(demand,)))
        both = LabelSelector(match_labels=wanted, match_expressions=(demand,))
        assert compile_selector(both).matches(labels) == all(compile_selector(part).matches(labels) for part in parts)

    def test_equal_selectors_compile_to_equal_matchers(self) -> None:
        assert compiled(("a", "In", ["x", "y"])) == compiled(("a", "In", ["y", "x"]))
        assert hash(compiled(a="x")) == hash(compiled(("a", "In", ["x"])))

    def test_a_malformed_selector_is_rejected_with_its_field_and_remedy(self) -> None:
        with pytest.raises(SelectorError, match=r"matchExpressions\[0\].values: Required value: In needs at least one"):
            compiled(("a", "In", []))

    def test_numeric_operators_are_for_nodes_alone(self) -> None:
        with pytest.raises(SelectorError, match="use one of In, NotIn, Exists, DoesNotExist"):
            compiled(("a", "Gt", ["1"]))


@pytest.mark.parametrize(
    ("value", "path", "kind"),
    [
        ({"matchLabels": {"@": "x"}}, "s.matchLabels", ErrorKind.INVALID),
        ({"matchLabels": {"a": "b c"}}, "s.matchLabels", ErrorKind.INVALID),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, "s.matchExpressions[0].values", ErrorKind.REQUIRED),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn"}]}, "s.matchExpressions[0].values", ErrorKind.REQUIRED),
        (
            {"matchExpressions": [{"key": "a", "operator": "Like", "values": ["x"]}]},
            "s.matchExpressions[0].operator",
            ErrorKind.INVALID,
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
            "s.matchExpressions[0].values",
            ErrorKind.FORBIDDEN,
        ),
        (
            {"matchExpressions": [{"key": "k", "operator": "Exists"}, {"key": "a b", "operator": "Exists"}]},
            "s.matchExpressions[1].key",
            ErrorKind.INVALID,
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "b c"]}]},
            "s.matchExpressions[0].values[1]",
            ErrorKind.INVALID,
        ),
    ],
)
def test_a_bad_selector_is_reported_at_its_field(value: dict[str, Any], path: str, kind: ErrorKind) -> None:
    """API-21."""
    errors = selector_errors(selector(value), Path("s"))
    assert [(str(error.path), error.kind, error.rule) for error in errors] == [(path, kind, "API-21")]


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"matchLabels": {"a": ""}},
        {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "k", "operator": "Exists"}]},
    ],
)
def test_a_good_selector_has_no_errors(value: dict[str, Any]) -> None:
    """API-21."""
    assert selector_errors(selector(value), Path("s")) == []
    assert selector_errors(None, Path("s")) == []


class TestNodeAffinity:
    @given(LABELS)
    def test_a_pod_without_preferences_may_run_anywhere(self, labels: dict[str, str]) -> None:
        assert nodes().matches("n", labels)

    def test_node_selector_and_affinity_must_both_hold(self) -> None:
        """TAS-45."""
        wanted = nodes([on_labels(("zone", "In", ["z1"]))], tier="a")
        assert wanted.matches("n", {"zone": "z1", "tier": "a"})
        assert not wanted.matches("n", {"zone": "z2", "tier": "a"})
        assert not wanted.matches("n", {"zone": "z1", "tier": "b"})
        assert wanted.matches_affinity("n", {"zone": "z1", "tier": "b"})

    def test_terms_are_alternatives_and_their_demands_go_together(self) -> None:
        wanted = nodes([on_labels(("a", "Exists", []), ("b", "Exists", [])), on_labels(("c", "Exists", []))])
        found = [wanted.matches("n", dict.fromkeys(keys, "x")) for keys in ("ab", "a", "c", "")]
        assert found == [True, False, True, False]

    def test_an_empty_term_matches_no_node_and_spoils_no_other(self) -> None:
        assert not nodes([{}]).matches("n", {"a": "x"})
        assert nodes([{}, on_labels(("a", "Exists", []))]).matches("n", {"a": "x"})

    def test_no_terms_at_all_match_no_node(self) -> None:
        assert not nodes([]).matches("n", {})

    def test_fields_name_the_node(self) -> None:
        wanted = nodes([on_fields(("metadata.name", "In", ["n1"]))])
        assert (wanted.matches("n1", {}), wanted.matches("n2", {})) == (True, False)
        unwanted = nodes([on_fields(("metadata.name", "NotIn", ["n1"]))])
        assert (unwanted.matches("n1", {}), unwanted.matches("n2", {})) == (False, True)

    @given(st.integers(-20, 20), st.integers(-20, 20))
    def test_gt_and_lt_compare_integers(self, value: int, bound: int) -> None:
        above = requirement(NodeSelectorRequirement(key="a", operator="Gt", values=("7",)))
        assert not above.holds({})
        assert not above.holds({"a": "seven"})
        label, limit = {"a": str(abs(value))}, (str(abs(bound)),)
        found = [
            requirement(NodeSelectorRequirement(key="a", operator=o, values=limit)).holds(label) for o in ("Gt", "Lt")
        ]
        assert found == [abs(value) > abs(bound), abs(value) < abs(bound)]

    def test_a_number_beyond_64_bits_is_none(self) -> None:
        below = requirement(NodeSelectorRequirement(key="a", operator="Lt", values=("9223372036854775807",)))
        assert below.holds({"a": "9223372036854775806"})
        assert not below.holds({"a": "-9223372036854775809"})

    @pytest.mark.parametrize(
        "term",
        [
            on_labels(("a", "Like", ["x"])),
            on_labels(("a", "In", [])),
            on_labels(("a", "Exists", ["x"])),
            on_labels(("a", "Gt", ["x"])),
            on_labels(("a", "Lt", ["1", "2"])),
            on_labels(("@", "Exists", [])),
            on_labels(("a", "In", ["b c"])),
            on_fields(("metadata.name", "Exists", [])),
            on_fields(("metadata.name", "In", ["a", "b"])),
        ],
    )
    def test_a_term_that_makes_no_sense_matches_nothing(self, term: dict[str, Any]) -> None:
        """SCH-513."""
        broken = nodes([term])
        assert not broken.matches("n", {"a": "x", "@": ""})
        assert nodes([term, on_labels(("a", "Exists", []))]).matches("n", {"a": "x"})

    def test_a_preferred_term_compiles_alone(self) -> None:
        demand = NodeSelectorRequirement(key="a", operator="Exists")
        assert node_term(NodeSelectorTerm(match_expressions=(demand,))).matches("n", {"a": ""})


@given(LABELS)
def test_everything_and_nothing_keep_their_word(labels: dict[str, str]) -> None:
    assert EVERYTHING.matches(labels)
    assert not NOTHING.matches({**labels, "": ""})
