"""Quota arithmetic in trees: the worked examples of the specification, and its laws over random trees."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.amounts import UNLIMITED
from kohort.engine.flavor_assigner import borrowing_level
from kohort.engine.hierarchy import ClusterQueueNode, CohortNode, Hierarchy, HierarchyNode
from kohort.engine.quota import FlavorResource, Quota, QuotaCell

FR = FlavorResource("f", "cpu")


def cpu(nominal: int, bl: int | None = None, ll: int | None = None) -> dict[FlavorResource, Quota]:
    return {FR: Quota(nominal, bl, ll)}


def available(forest: Hierarchy, *names: str) -> list[int]:
    nodes: dict[str, HierarchyNode] = {**forest.cohorts, **forest.queues}
    return [nodes[name].cells[FR].available() for name in names]


class TestExampleA:
    """A flat cohort with both limits (SCH-410, SCH-411, SCH-412, SCH-430, SCH-431, SCH-432)."""

    @pytest.fixture
    def forest(self) -> Hierarchy:
        forest = Hierarchy()
        forest.set_queue("a", "R", cpu(9, bl=6))
        forest.set_queue("b", "R", cpu(12, ll=4))
        forest.refresh()
        return forest

    def test_the_steps_of_the_table(self, forest: Hierarchy) -> None:
        a, b = forest.queues["a"].cells[FR], forest.queues["b"].cells[FR]
        assert available(forest, "a", "b") == [13, 21]
        b.use(10)
        assert available(forest, "a", "b") == [11, 11]
        a.use(8)
        assert available(forest, "a", "b") == [3, 3]
        b.use(2)
        assert available(forest, "a", "b") == [1, 1]
        assert forest.cohorts["R"].cells[FR].usage == 12

    def test_the_maximum_that_could_be_held(self, forest: Hierarchy) -> None:
        assert [forest.queues[name].cells[FR].potential for name in "ab"] == [13, 21]

    def test_the_level_of_a_borrower(self, forest: Hierarchy) -> None:
        forest.queues["b"].cells[FR].use(10)
        forest.queues["a"].cells[FR].use(8)
        assert borrowing_level(forest.queues["a"], FR, 3) == (1, False)


class TestExampleB:
    """A hierarchy with limits at inner nodes (SCH-410, SCH-412, SCH-421, SCH-431)."""

    @pytest.fixture
    def forest(self) -> Hierarchy:
        forest = Hierarchy()
        forest.set_cohort("R", None, cpu(10))
        forest.set_cohort("L", "R", cpu(4, bl=5, ll=6))
        forest.set_cohort("M", "R", {})
        forest.set_queue("a", "L", cpu(8))
        forest.set_queue("b", "L", cpu(2, bl=3))
        forest.set_queue("c", "M", cpu(6, ll=2))
        forest.refresh()
        return forest

    def test_sums_of_the_table(self, forest: Hierarchy) -> None:
        nodes: dict[str, HierarchyNode] = {**forest.cohorts, **forest.queues}
        cells = [nodes[name].cells[FR] for name in "abLcMR"]
        assert [cell.subtree for cell in cells] == [8, 2, 14, 6, 2, 18]
        assert [cell.local for cell in cells] == [0, 0, 8, 4, 0, 0]
        assert [cell.potential for cell in cells] == [19, 5, 19, 22, 18, 18]

    def test_use_and_availability_of_the_table(self, forest: Hierarchy) -> None:
        nodes: dict[str, HierarchyNode] = {**forest.cohorts, **forest.queues}
        cells = [nodes[name].cells[FR] for name in "abLcMR"]
        forest.queues["a"].cells[FR].use(12)
        assert [cell.usage for cell in cells] == [12, 0, 12, 0, 0, 4]
        assert available(forest, *"abLcMR") == [7, 5, 7, 18, 14, 14]
        forest.queues["c"].cells[FR].use(9)
        assert [cell.usage for cell in cells] == [12, 0, 12, 9, 5, 9]
        assert available(forest, *"abLcMR") == [7, 5, 7, 9, 9, 9]

    @pytest.mark.parametrize(("amount", "level"), [(6, 0), (10, 1), (14, 1), (19, 2)])
    def test_levels(self, forest: Hierarchy, amount: int, level: int) -> None:
        """SCH-440, SCH-441."""
        assert borrowing_level(forest.queues["a"], FR, amount)[0] == level

    def test_heights(self, forest: Hierarchy) -> None:
        """SCH-440."""
        assert [forest.cohorts[name].height for name in "LMR"] == [1, 1, 2]


def test_example_c_debt_blocks_both_sides() -> None:
    """SCH-434: quota lowered below use shows as negative availability everywhere above."""
    forest = Hierarchy()
    forest.set_queue("a", "R", cpu(4))
    forest.set_queue("b", "R", cpu(4))
    forest.refresh()
    forest.queues["a"].cells[FR].use(7)
    forest.set_queue("b", "R", cpu(1))
    forest.refresh()
    assert available(forest, "a", "b") == [-2, -2]
    assert forest.cohorts["R"].cells[FR].usage == 7


class TestTree:
    """SCH-401, SCH-402."""

    def test_an_implicit_cohort_is_deleted_with_its_last_member(self) -> None:
        forest = Hierarchy()
        forest.set_queue("a", "R", cpu(1))
        forest.set_queue("a", None, cpu(1))
        assert forest.cohorts == {}

    def test_a_deleted_cohort_with_members_loses_quota_and_parent_only(self) -> None:
        forest = Hierarchy()
        forest.set_cohort("R", None, cpu(5))
        forest.set_cohort("L", "R", cpu(3))
        forest.set_queue("a", "L", cpu(1))
        forest.refresh()
        forest.remove_cohort("L")
        forest.refresh()
        assert forest.queues["a"].parent is forest.cohorts["L"]
        assert available(forest, "a") == [1]

    def test_a_cycle_is_seen_and_left_alone_until_it_is_broken(self) -> None:
        forest = Hierarchy()
        forest.set_cohort("x", "y", {})
        forest.set_cohort("y", "x", {})
        forest.set_queue("a", "x", cpu(2))
        forest.refresh()
        assert [queue.is_cyclic for queue in forest.queues.values()] == [True]
        forest.set_cohort("y", None, cpu(3))
        forest.refresh()
        assert [queue.is_cyclic for queue in forest.queues.values()] == [False]
        assert available(forest, "a") == [5]

    def test_use_moves_with_a_queue_to_another_tree(self) -> None:
        forest = Hierarchy()
        forest.set_queue("a", "R", cpu(2))
        forest.set_queue("b", "R", cpu(2))
        forest.set_queue("c", "S", cpu(4))
        forest.refresh()
        forest.queues["a"].cells[FR].use(3)
        forest.set_queue("a", "S", cpu(2))
        forest.refresh()
        assert available(forest, "b", "c") == [2, 3]

    def test_unlimited_quota_stays_unlimited_and_is_not_lent_where_it_is_kept(self) -> None:
        """SCH-103: U - U = 0."""
        forest = Hierarchy()
        forest.set_queue("a", "R", cpu(UNLIMITED, ll=5))
        forest.set_queue("b", "R", cpu(1))
        forest.refresh()
        assert forest.queues["a"].cells[FR].available() > 2**63
        assert available(forest, "b") == [1]


# Laws over random trees


@dataclass
class Tree:
    forest: Hierarchy
    uses: list[tuple[str, int]] = field(default_factory=list)


LIMITS = st.none() | st.integers(0, 8)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """A tree of depth four at most, with limits everywhere they are legal, and uses that fit or not."""
    forest = Hierarchy()
    cohorts = ["R"]
    forest.set_cohort("R", None, cpu(draw(st.integers(0, 9))))
    for number in range(draw(st.integers(0, 4))):
        parent = draw(st.sampled_from(cohorts))
        forest.set_cohort(f"c{number}", parent, cpu(draw(st.integers(0, 9)), draw(LIMITS), draw(LIMITS)))
        cohorts.append(f"c{number}")
    names = [f"q{number}" for number in range(draw(st.integers(1, 5)))]
    for name in names:
        nominal = draw(st.integers(0, 9))
        lending = draw(st.none() | st.integers(0, nominal))
        forest.set_queue(name, draw(st.sampled_from(cohorts)), cpu(nominal, draw(LIMITS), lending))
    forest.refresh()
    return Tree(forest, draw(st.lists(st.tuples(st.sampled_from(names), st.integers(1, 9)), max_size=12)))


def all_nodes(forest: Hierarchy) -> list[HierarchyNode]:
    return [*forest.cohorts.values(), *forest.queues.values()]


def usage_by_definition(node: HierarchyNode) -> int:
    """SCH-421, without any shortcut."""
    if isinstance(node, ClusterQueueNode) or not isinstance(node, CohortNode):
        return node.cells[FR].usage
    return sum(
        max(0, usage_by_definition(child) - child.cells[FR].local) for child in node.members() if FR in child.cells
    )


@given(trees())
def test_use_of_a_cohort_is_the_sum_of_its_childrens_use_beyond_their_own(tree: Tree) -> None:
    """SCH-421: incremental updates give the same as the definition."""
    for name, amount in tree.uses:
        tree.forest.queues[name].cells[FR].use(amount)
    for node in all_nodes(tree.forest):
        if FR in node.cells:
            assert node.cells[FR].usage == usage_by_definition(node)


@given(trees())
def test_giving_everything_back_returns_the_tree_to_zero(tree: Tree) -> None:
    for name, amount in tree.uses:
        tree.forest.queues[name].cells[FR].use(amount)
    for name, amount in tree.uses:
        tree.forest.queues[name].cells[FR].free(amount)
    assert all(node.cells[FR].usage == 0 for node in all_nodes(tree.forest) if FR in node.cells)


def respects_limits(cell: QuotaCell) -> bool:
    within = cell.borrowing_limit is None or cell.usage <= cell.subtree + cell.borrowing_limit
    return within and (cell.parent is not None or cell.usage <= cell.subtree)


@given(trees())
def test_admitting_only_what_is_available_never_breaks_a_limit(tree: Tree) -> None:
    """SCH-431, SCH-432: no node exceeds its limits, for any order of admissions."""
    for name, amount in tree.uses:
        cell = tree.forest.queues[name].cells[FR]
        if amount <= cell.available():
            cell.use(amount)
        assert all(respects_limits(node.cells[FR]) for node in all_nodes(tree.forest) if FR in node.cells)


@given(trees())
def test_an_empty_tree_offers_each_queue_its_potential(tree: Tree) -> None:
    """SCH-412: without use, what is available is what could ever be held."""
    for node in all_nodes(tree.forest):
        if FR in node.cells:
            assert node.cells[FR].available() == node.cells[FR].potential


@given(trees())
def test_setting_the_sums_anew_changes_nothing(tree: Tree) -> None:
    for name, amount in tree.uses:
        tree.forest.queues[name].cells[FR].use(amount)
    before = [(node.name, node.cells[FR].available()) for node in all_nodes(tree.forest) if FR in node.cells]
    for name, queue in tree.forest.queues.items():
        tree.forest.set_queue(name, queue.parent.name if queue.parent else None, queue.quotas)
    tree.forest.refresh()
    assert [(node.name, node.cells[FR].available()) for node in all_nodes(tree.forest) if FR in node.cells] == before
