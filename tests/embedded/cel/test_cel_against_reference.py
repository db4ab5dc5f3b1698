"""Our compiler and a real CEL library give the same results, on examples and on generated expressions (ADR 4)."""

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.embedded.cel import CelError, CostBudget, compile_expression

cel = pytest.importorskip("cel_expr_python.cel", reason="cel-expr-python has no build for this Python")
strings = pytest.importorskip("cel_expr_python.ext.ext_strings")
optionals = pytest.importorskip("cel_expr_python.ext.ext_optional")

Json = Any
FAILED = "failed"

SELF: Json = {
    "a": 1,
    "b": "x",
    "l": [1, 2, 3],
    "m": {"k": 2.5, "n": None},
    "t": True,
    "f": 1.0,
    "s": ["ab", "", "äö"],
    "o": [{"name": "p", "n": 1}, {"name": "q"}],
}


@cache
def environment() -> Any:
    extensions = [strings.ExtStrings(), optionals.ExtOptional()]
    return cel.NewEnv(variables={"self": cel.Type.DYN}, extensions=extensions)


def theirs(text: str) -> Json:
    """Unchecked, as values of unknown type are: static types do not affect evaluation."""
    try:
        result = environment().compile(text, disable_check=True).eval(data={"self": SELF})
    except RuntimeError:
        return FAILED
    return FAILED if result.type() == cel.Type.ERROR else plain(result.plain_value())


def ours(text: str) -> Json:
    try:
        return plain(compile_expression(text, ("self",)).evaluate(CostBudget(), SELF))
    except CelError:
        return FAILED


def plain(value: Json) -> Json:
    """A value with its type, since Python takes 1, 1.0 and true for the same."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, bytearray):
        value = bytes(value)
    kind = "int" if isinstance(value, int) and not isinstance(value, bool) else type(value).__name__
    return kind, repr(int(value) if kind == "int" else value)


EXAMPLES = """
self.a + 1
self.a == 1.0
self.f == 1
self.t == 1
self.a < 2.5
self.b < 'y'
1 / 0
-7 / 2
-7 % 3
7 % -3
-9223372036854775808
9223372036854775807 + 1
-(-9223372036854775807 - 1)
5 - 3 * 2
(1 + 2) * 3
1.5 / 0.0
1u + 2u
1u - 2u
1 + 1u
dyn(1) == 1u
'a' + 'b'
b'a' == b'\\x61'
r'\\d' == '\\\\d'
'\\u00e4'.size()
size('😀')
size(self.l)
self.l.size() == 3
self.l == [1, 2, 3.0]
self.l + [4]
self.l[0]
self.l[3]
self.l[-1]
self['a']
{1: 2}[1]
{'a': {'b': 1}}.a.b
self.m.zz
self.a.b
self.l.a
has(self.a)
has(self.zz)
has(self.m.n)
has(self.zz.y)
'k' in self.m
2 in self.l
2.0 in self.l
'2' in self.l
self.l.map(x, x * 2)
self.l.map(x, x > 1, x * 2)
self.l.filter(x, x > 1)
self.l.all(x, x > 0)
self.l.exists(x, x / (x - 2) > 0 || x == 2)
self.l.all(x, x / (x - 2) > 0 && x > 5)
self.l.exists(x, x / 0 > 1)
self.l.exists_one(x, x == 2)
self.m.all(k, k in ['k', 'n'])
self.o.all(o, has(o.n) ? o.n > 0 : o.name == 'q')
[[1], [2]].exists(l, l.exists(x, x == 2))
self.zz.y == 1 || true
true || self.zz.y == 1
self.zz.y == 1 && false
self.zz.y == 1 && true
false || self.a
self.a ? 1 : 2
true ? 1 : self.zz
!self.t
!self.a
null == null
self.m.n == null
'a' < 1
1 == 'a'
[1, 'a', null] == [1, 'a', null]
{'a': 1, 'b': [2]} == {'b': [2], 'a': 1.0}
int('12')
int('x')
int(3.9)
int(-3.9)
int(1e30)
uint(3)
double('1.5')
string(true)
string(-12)
string(1.5)
bool('true')
bool('maybe')
bytes('ä')
string(b'ab')
timestamp('2020-01-01T00:00:00Z') < timestamp('2020-01-02T00:00:00+01:00')
timestamp('2020-02-30T00:00:00Z') == timestamp('2020-03-01T00:00:00Z')
timestamp('2020-01-01T00:00:00Z') + duration('1h') == timestamp('2020-01-01T01:00:00Z')
timestamp('2020-01-05T12:34:56.789Z').getDayOfWeek()
timestamp('2020-03-01T12:34:56.789Z').getDayOfYear()
timestamp('2020-01-05T12:34:56.789Z').getMilliseconds()
timestamp('2020-01-05T12:34:56Z').getHours('+02:00')
duration('1h30m').getMinutes()
duration('-90s').getMinutes()
duration('1.5s') == duration('1500ms')
string(duration('90m'))
string(timestamp('2020-01-01T00:00:00.123Z'))
int(timestamp('2020-01-01T00:00:00Z'))
'abc'.matches('^a.c$')
matches('abc', 'b')
'abc'.contains('b')
'abc'.startsWith('ab')
'abc'.endsWith('bc')
'abc'.charAt(1)
'abc'.charAt(3)
'abc'.charAt(4)
'abc'.indexOf('c')
'abc'.indexOf('b', 2)
'hello'.lastIndexOf('l')
'hello'.lastIndexOf('l', 2)
'abc'.substring(1)
'abc'.substring(1, 2)
'abc'.substring(2, 1)
'a,b,c'.split(',')
'a,b,c'.split(',', 2)
'a,b,c'.split(',', 0)
'abc'.split('')
['a', 'b'].join('-')
'  a '.trim()
'aÄB'.lowerAscii()
'aäb'.upperAscii()
'abab'.replace('a', 'x')
'abab'.replace('a', 'x', 1)
'%s-%d-%s'.format(['a', 1, true])
'%.2f|%x|%X|%o|%b|%%'.format([1.005, 255, 255, 8, 5])
'%s'.format([null])
'%d'.format(['a'])
self.?a.orValue(5)
self.?zz.orValue(5)
self.m.?zz.hasValue()
self.?m.?k.value() == 2.5
optional.of(1).or(optional.of(2)).value()
optional.none().value()
[?self.?a, ?self.?zz]
{?'x': self.?a, ?'y': self.?zz}
self.?a.optMap(v, v + 1).orValue(0)
self.?zz.optMap(v, v + 1).orValue(0)
"""


@pytest.mark.parametrize("text", EXAMPLES.strip().splitlines())
def test_an_example_has_the_same_result(text: str) -> None:
    assert ours(text) == theirs(text)


def joined(*parts: Any) -> Any:
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map("".join)


LITERALS = ("1", "0", "-2", "3", "2.5", "0.0", "'x'", "'ab'", "''", "true", "false", "null", "[]", "[1, 2]", "2u")
MEMBERS = ("a", "b", "l", "m", "m.k", "m.n", "t", "f", "s", "o", "zz")
LEAVES = st.sampled_from([*LITERALS, "{'k': 1}", *(f"self.{name}" for name in MEMBERS)])


def larger(inner: Any) -> Any:
    operators = st.sampled_from(["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in"])
    loops = st.sampled_from(["all", "exists", "exists_one", "filter", "map"])
    bodies = joined("(v ", operators.filter(lambda sign: sign != "in"), " ", inner, ")")
    return st.one_of(
        joined("(", inner, " ", operators, " ", inner, ")"),
        joined("(", inner, " ? ", inner, " : ", inner, ")"),
        joined("!(", inner, ")"),
        joined("size(", inner, ")"),
        joined("string(", inner, ")"),
        joined("[", inner, ", ", inner, "]"),
        joined(inner, "[", inner, "]"),
        joined(inner, ".", loops, "(v, ", bodies, ")"),
        joined("has((", inner, ").k)"),
        joined("(", inner, ").k"),
    )


@given(st.recursive(LEAVES, larger, max_leaves=8))
def test_a_generated_expression_has_the_same_result(text: str) -> None:
    assert ours(text) == theirs(text), text
