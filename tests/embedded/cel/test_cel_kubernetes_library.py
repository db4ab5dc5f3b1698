"""Functions of Kubernetes' CEL library."""

from typing import Any

import pytest

from kohort.embedded.cel import CelError, CompileError, CostBudget, compile_expression


def value(text: str, **variables: Any) -> Any:
    return compile_expression(text, tuple(variables)).evaluate(CostBudget(), *variables.values())


TRUE = """
quantity('1Gi').isGreaterThan(quantity('1G'))
quantity('500m').add(quantity('0.5')).compareTo(quantity('1')) == 0
quantity('5').sub(2).asInteger() == 3
quantity('50k').isInteger() && !quantity('1m').isInteger()
quantity('-3').sign() == -1
quantity('1.5').asApproximateFloat() == 1.5
quantity('1024Mi') == quantity('1Gi')
isQuantity('200Mi') && !isQuantity('two')
url('https://user@host.example:8080/a%20b?x=1&x=2#f').getHost() == 'host.example:8080'
url('https://[::1]:80/').getHostname() == '::1'
url('https://[::1]:80/').getPort() == '80'
url('https://host/a b'.replace(' ', '%20')).getEscapedPath() == '/a%20b'
url('/path?x=1&x=2').getQuery() == {'x': ['1', '2']}
isURL('https://example.com') && !isURL('example.com') && !isURL('://x')
ip('192.168.0.1').family() == 4 && ip('::1').family() == 6
ip('127.0.0.1').isLoopback() && ip('0.0.0.0').isUnspecified()
ip('169.254.1.1').isLinkLocalUnicast() && ip('224.0.0.5').isLinkLocalMulticast()
ip('10.0.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()
isIP('1.2.3.4') && !isIP('1.2.3') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0')
ip.isCanonical('::1') && !ip.isCanonical('::0:1')
string(ip('2001:db8::1')) == '2001:db8::1'
cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))
cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))
cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')
cidr('10.1.2.3/8').ip() == ip('10.1.2.3') && cidr('10.0.0.0/8').prefixLength() == 8
isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0/08')
[1, 2, 2].isSorted() && !['b', 'a'].isSorted() && [].isSorted()
[1, 2, 3].sum() == 6 && [1.5, 0.5].sum() == 2.0 && [].sum() == 0
[duration('1m'), duration('1s')].sum() == duration('61s')
[3, 1, 2].min() == 1 && ['a', 'c'].max() == 'c'
[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(9) == -1
[3, 1, 2].sort() == [1, 2, 3] && [1, 2].reverse() == [2, 1]
[{'n': 2}, {'n': 1}].sortBy(e, e.n).map(e, e.n) == [1, 2]
[1, 2, 3, 4].slice(1, 3) == [2, 3]
[[1], [2, [3]]].flatten() == [1, 2, [3]] && [[1], [2, [3]]].flatten(2) == [1, 2, 3]
[1, 1.0, 2].distinct() == [1, 2]
lists.range(3) == [0, 1, 2]
[1, 2].first().value() == 1 && [].last().orValue(5) == 5
sets.contains([1, 2, 3], [3, 1]) && !sets.contains([1], [2])
sets.equivalent([1, 2], [2, 1, 1]) && sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [])
'abc 123 x4'.find('[0-9]+') == '123' && 'abc'.find('[0-9]+') == ''
'1 22 333'.findAll('[0-9]+') == ['1', '22', '333'] && '1 2 3'.findAll('[0-9]', 2) == ['1', '2']
format.dns1123Label().validate('team-a') == optional.none()
format.dns1123Label().validate('Team A').hasValue()
format.named('uuid').value().validate('123e4567-e89b-12d3-a456-426614174000') == optional.none()
format.dns1123LabelPrefix().validate('team-') == optional.none()
!format.named('nothing').hasValue()
semver('1.2.3').major() == 1 && semver('1.2.3').isLessThan(semver('1.10.0'))
semver('1.0.0-alpha').compareTo(semver('1.0.0')) == -1
isSemver('1.2.3') && !isSemver('v1.2') && isSemver('v1.2', true)
[1, 2, 3].transformList(i, v, i > 0, v * i) == [2, 6]
{'a': 1, 'b': 2}.transformMap(k, v, v + 1) == {'a': 2, 'b': 3}
{'a': 'x'}.transformMapEntry(k, v, {v: k}) == {'x': 'a'}
{'a': 1, 'b': 2}.all(k, v, v > 0) && [5, 6].exists(i, v, i == 1 && v == 6)
[1, 2].existsOne(i, v, v == 2)
strings.quote('a"b') == '"a\\\\"b"'
'%s'.format([['a', 1.5, {'k': true}]]) == '["a", 1.500000, {"k":true}]'
'%s'.format([duration('90s')]) == '90s'
type(quantity('1')) != type(1) && type([]) == list && type({}) == map
string(1000000.0) == '1e+06' && string(0.1) == '0.1' && string(123456.0) == '123456'
"""


@pytest.mark.parametrize("text", TRUE.strip().splitlines())
def test_holds(text: str) -> None:
    assert value(text) is True


FAILING = """
quantity('two') ~ quantities must match
quantity('1m').asInteger() ~ cannot convert value to integer
[].min() ~ min called on empty list
[1, 'a'].max() ~ no such overload
[1, 2].slice(1, 5) ~ list is length 2
url('no url') ~ URL parse error
ip('1.2.3') ~ parse error during conversion
cidr('1.2.3.4') ~ network address parse error
semver('v1') ~ invalid semantic version
{'a': 'x', 'b': 'x'}.transformMapEntry(k, v, {v: k}) ~ already exists
'a'.matches('(') ~ error parsing regexp
timestamp('today') ~ RFC 3339
duration('soon') ~ invalid duration
timestamp('2020-01-01T00:00:00Z').getHours('Unknown/City') ~ unknown time zone
timestamp('2020-01-01T00:00:00Z').getHours('+99:99') ~ unknown time zone
timestamp('9999-12-31T23:59:59Z').getFullYear('+14:00') ~ timestamp overflow
[1].unwrapOpt() ~ no such overload
"""


@pytest.mark.parametrize("line", FAILING.strip().splitlines())
def test_fails_with_a_reason(line: str) -> None:
    text, _, reason = line.partition(" ~ ")
    with pytest.raises(CelError, match=reason):
        value(text)


# Errors in the text

REFUSED = """
self.a + ~ mismatched input '<EOF>'
self.a == missing ~ undeclared reference to 'missing'
self.a.nothing() ~ undeclared reference to 'nothing'
nothing(1) ~ undeclared reference to 'nothing'
self.a.startsWith() ~ found no matching overload for 'startsWith'
'open ~ token recognition error
99999999999999999999 ~ invalid int literal
has(self) ~ invalid argument to has
self.all(1, true) ~ argument must be a simple name
[1].all(i, i, true) ~ iteration variables must be distinct
self.a = 1 ~ token recognition error
for ~ mismatched input 'for'
'\\q' ~ invalid escape sequence
"""


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_a_text_that_is_no_expression_is_rejected_with_its_position(line: str) -> None:
    text, _, reason = line.partition(" ~ ")
    with pytest.raises(CompileError, match=reason.replace("(", r"\(")) as caught:
        value(text, self=None)
    assert "<input>:1:" in str(caught.value)


def test_an_error_has_its_position_in_the_line() -> None:
    with pytest.raises(CompileError) as caught:
        value("true &&\n  self.a == missing", self=None)
    assert str(caught.value).splitlines() == [
        "ERROR: <input>:2:13: undeclared reference to 'missing' (in container '')",
        " |   self.a == missing",
        " | ............^",
    ]


def test_variables_hide_those_outside_and_only_inside() -> None:
    assert value("[1, 2].map(self, self * 2) == [2, 4] && self == 7", self=7)


def test_a_program_lists_the_paths_it_reads() -> None:
    program = compile_expression("self.a.b == 1 && [1].all(other, other == self.c)", ("self", "other"))
    assert program.used == {"self"}
    assert program.paths == {("a", "b"), ("c",)}
