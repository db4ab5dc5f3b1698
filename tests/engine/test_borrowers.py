"""Every cohort has the set of its children that borrow, after any changes of usage and quotas (SCH-433, SCH-611)."""

from hypothesis import given
from hypothesis import strategies as st

from kohort.engine.hierarchy import CohortNode, Hierarchy, HierarchyNode
from kohort.engine.quota import FlavorResource, Quota

CPU = FlavorResource("f", "cpu")
GPU = FlavorResource("f", "gpu")
QUEUES = ("a", "b", "c", "d")
COHORTS = ("R", "L", "M")

amounts = st.integers(0, 9)
limits = st.none() | amounts
quotas = st.dictionaries(st.sampled_from((CPU, GPU)), st.builds(Quota, amounts, limits, limits), min_size=1)
steps = st.one_of(
    st.tuples(st.just("use"), st.sampled_from(QUEUES), st.sampled_from((CPU, GPU)), amounts),
    st.tuples(st.just("free"), st.sampled_from(QUEUES), st.sampled_from((CPU, GPU)), amounts),
    st.tuples(st.just("set"), st.sampled_from(QUEUES), st.sampled_from(COHORTS), quotas),
)


def borrowing(cohort: CohortNode, fr: FlavorResource) -> set[str]:
    """The result computed from every child."""

    def is_beyond(node: HierarchyNode) -> bool:
        return fr in node.cells and not node.cells[fr].is_within_nominal

    return {member.name for member in cohort.members() if is_beyond(member)}


@given(st.lists(steps, max_size=30))
def test_a_cohort_lists_the_children_that_borrow(script: list[tuple[str, str, object, object]]) -> None:
    forest = Hierarchy()
    forest.set_cohort("L", "R", {CPU: Quota(2, None, 1)})
    forest.set_cohort("M", "R", {})
    for name in QUEUES:
        forest.set_queue(name, COHORTS[ord(name) % 3], {CPU: Quota(2), GPU: Quota(0)})
    forest.refresh()
    for action, queue, what, much in script:
        node = forest.queues[queue]
        if action == "set":
            forest.set_queue(queue, str(what), much)  # type: ignore[arg-type]
            forest.refresh()
        elif isinstance(what, FlavorResource) and isinstance(much, int):
            cell = node.cell(what)
            cell.use(much) if action == "use" else cell.free(min(much, cell.usage))
    for cohort in forest.cohorts.values():
        for fr in (CPU, GPU):
            assert {member.name for member in cohort.borrowers([fr])} == borrowing(cohort, fr)
        every = borrowing(cohort, CPU) | borrowing(cohort, GPU)
        assert sorted(member.name for member in cohort.borrowers([CPU, GPU])) == sorted(every)


def test_borrowing_queues_are_found_below_cohorts_that_do_not_borrow() -> None:
    forest = Hierarchy()
    forest.set_cohort("L", "R", {CPU: Quota(5)})
    forest.set_queue("a", "L", {CPU: Quota(1)})
    forest.set_queue("b", "R", {CPU: Quota(1)})
    forest.refresh()
    forest.queues["a"].cell(CPU).use(3)
    root = forest.cohorts["R"]
    assert root.borrowers([CPU]) == []
    assert [queue.name for queue in root.borrowing_queues([CPU])] == ["a"]
