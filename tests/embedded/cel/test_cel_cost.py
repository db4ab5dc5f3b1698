"""No expression holds up the server: steps and sizes are bounded."""

import time
from typing import Any

import pytest

from kohort.embedded.cel import CompileError, CostBudget, CostError, EvaluationError, compile_expression


def run(text: str, value: Any = None, budget: CostBudget | None = None) -> Any:
    return compile_expression(text, ("self",)).evaluate(budget or CostBudget(), value)


@pytest.mark.parametrize(
    "text",
    [
        "self.all(a, self.all(b, self.all(c, self.all(d, a + b + c + d >= 0))))",
        "self.map(a, self.map(b, self.map(c, self))).size() > 0",
        "self.exists(a, self.exists(b, self.sum() == -1))",
        "self.map(a, lists.range(100000)).size() > 0",
        "lists.range(1000000000).size() > 0",
        "'aaaaaaaaaaaaaaaa'.split('').map(a, lists.range(50000).map(b, 'x').join('y')).size() > 0",
    ],
)
def test_loops_in_loops_end_with_an_error(text: str) -> None:
    started = time.process_time()
    with pytest.raises(CostError):
        run(text, list(range(1000)))
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "text", ["self.replace('', self)", "self.split('').join(self)", "(self + self).replace('a', self)"]
)
def test_texts_do_not_grow_without_bound(text: str) -> None:
    with pytest.raises(CostError):
        run(text, "a" * 1_000_000)


def test_nothing_absorbs_a_spent_budget() -> None:
    with pytest.raises(CostError):
        run("self.all(a, self.all(b, self.all(c, true))) || true", list(range(1000)))


def test_a_budget_is_spent_over_several_evaluations() -> None:
    budget = CostBudget(2500)
    run("self.all(a, true)", list(range(1000)), budget)
    run("self.all(a, true)", list(range(1000)), budget)
    with pytest.raises(CostError):
        run("self.all(a, true)", list(range(1000)), budget)


def test_ordinary_rules_on_large_lists_are_well_within_the_budget() -> None:
    items = [{"name": f"n{number}"} for number in range(500)]
    assert run("self.all(a, self.exists_one(b, b.name == a.name))", items)


@pytest.mark.parametrize(
    "text",
    ["(" * 5000 + "1" + ")" * 5000, "!" * 5000 + "true", "[" * 500 + "]" * 500, "1" * 200_000, "+".join("1" * 5000)],
)
def test_texts_that_nest_or_run_on_are_refused(text: str) -> None:
    with pytest.raises(CompileError):
        run(text)


def test_values_that_nest_deeply_fail_plainly() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(EvaluationError, match="nested too deeply"):
        run("self == [self]", deep)
    while deep:
        deep = deep[0]
