"""Parses CEL to syntax trees by recursive descent; macros are recognized here, since they look like calls."""

from collections.abc import Iterator

from kohort.embedded.cel.errors import CompileError
from kohort.embedded.cel.lexer import MAX_INT, Token, tokens
from kohort.embedded.cel.macros import expanded
from kohort.embedded.cel.syntax import (
    CallExpr,
    Expression,
    Index,
    ListItem,
    ListLiteral,
    Literal,
    MapEntry,
    MapLiteral,
    Name,
    Select,
)

MAX_LENGTH = 100_000
MAX_DEPTH = 100
"""Maximum nesting of expressions."""

_CONSTANTS = {"true": True, "false": False, "null": None}
_RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
        "in",
    ]
)
_LEVELS = (("||",), ("&&",), ("<", "<=", ">", ">=", "==", "!=", "in"), ("+", "-"), ("*", "/", "%"))
_TIGHTNESS = {sign: level for level, signs in enumerate(_LEVELS) for sign in signs}


def parse(text: str) -> Expression:
    """The tree of an expression; raises `CompileError`."""
    if len(text) > MAX_LENGTH:
        raise CompileError(f"expression code point size exceeds limit: size: {len(text)}, limit {MAX_LENGTH}")
    parser = _Parser(text)
    tree = parser.expression()
    parser.expect("end")
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.stream: Iterator[Token] = iter(tokens(text))
        self.token = next(self.stream)
        self.depth = 0

    # Tokens

    def advance(self) -> Token:
        token = self.token
        if token.kind != "end":
            self.token = next(self.stream)
        return token

    def take(self, *signs: str) -> Token | None:
        """The next token if it is one of these signs (or the word `in`)."""
        if self.token.kind in ("sign", "name") and self.token.text in signs:
            return self.advance()
        return None

    def expect(self, what: str) -> Token:
        if self.token.text == what or self.token.kind == what:
            return self.advance()
        raise self.unexpected()

    def unexpected(self) -> CompileError:
        shown = self.token.text
        return CompileError(f"Syntax error: mismatched input '{shown}'", self.text, self.token.position)

    # Operators by precedence

    def expression(self) -> Expression:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise CompileError(f"expression recursion limit exceeded: {MAX_DEPTH}", self.text, self.token.position)
        condition = self.binary(0)
        if question := self.take("?"):
            chosen = self.binary(0)
            self.expect(":")
            condition = CallExpr("_?_:_", (condition, chosen, self.expression()), question.position)
        self.depth -= 1
        return condition

    def binary(self, level: int) -> Expression:
        """Operators of this and higher precedence, left-associative."""
        left = self.unary()
        while (tightness := self.tightness()) >= level:
            sign = self.advance()
            left = CallExpr(f"_{sign.text}_", (left, self.binary(tightness + 1)), sign.position)
        return left

    def tightness(self) -> int:
        """The precedence of the next operator; below all levels if there is none."""
        is_operator = self.token.kind == "sign" or self.token.text == "in"
        return _TIGHTNESS.get(self.token.text, -1) if is_operator else -1

    def unary(self) -> Expression:
        signs: list[Token] = []
        while sign := self.take("!", "-"):
            signs.append(sign)
        if len(signs) > MAX_DEPTH:
            raise CompileError(f"expression recursion limit exceeded: {MAX_DEPTH}", self.text, signs[0].position)
        operand = self.negated_number(signs) or self.checked(self.member())
        for sign in reversed(signs):
            operand = CallExpr(f"{sign.text}_", (operand,), sign.position)
        return operand

    def negated_number(self, signs: list[Token]) -> Expression | None:
        """A minus sign directly before a number belongs to it: the minimum integer has no positive counterpart."""
        number = self.token.value
        if not signs or signs[-1].text != "-" or type(number) not in (int, float):
            return None
        literal = Literal(-number, signs.pop().position)
        self.advance()
        return self.suffixes(literal)

    def checked(self, operand: Expression) -> Expression:
        if isinstance(operand, Literal) and type(operand.value) is int and operand.value > MAX_INT:
            raise CompileError("invalid int literal", self.text, operand.position)
        return operand

    # Members and primaries

    def member(self) -> Expression:
        return self.suffixes(self.primary())

    def suffixes(self, operand: Expression) -> Expression:
        while sign := self.take(".", "["):
            is_optional = self.take("?") is not None
            if sign.text == "[":
                operand = Index(operand, self.expression(), sign.position, is_optional)
                self.expect("]")
            else:
                operand = self.field(operand, sign, is_optional=is_optional)
        return operand

    def field(self, operand: Expression, sign: Token, *, is_optional: bool) -> Expression:
        name = self.expect("name").text
        if not is_optional and self.take("("):
            return expanded(CallExpr(name, self.arguments(")"), sign.position, operand), self.text)
        return Select(operand, name, sign.position, is_optional)

    def primary(self) -> Expression:
        token = self.token
        if token.kind == "literal":
            return Literal(self.advance().value, token.position)
        if self.take("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self.take("["):
            return ListLiteral(tuple(self.items()), token.position)
        if self.take("{"):
            return MapLiteral(tuple(self.entries()), token.position)
        self.take(".")
        return self.named()

    def named(self) -> Expression:
        token = self.token
        if token.text in _RESERVED:
            raise self.unexpected()
        self.expect("name")
        if self.take("("):
            return expanded(CallExpr(token.text, self.arguments(")"), token.position), self.text)
        if token.text in _CONSTANTS:
            return Literal(_CONSTANTS[token.text], token.position)
        return Name(token.text, token.position)

    def arguments(self, closing: str) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while not self.take(closing):
            found.append(self.expression())
            if not self.take(","):
                self.expect(closing)
                break
        return tuple(found)

    def items(self) -> Iterator[ListItem]:
        while not self.take("]"):
            is_optional = self.take("?") is not None
            yield ListItem(self.expression(), is_optional)
            if not self.take(","):
                self.expect("]")
                return

    def entries(self) -> Iterator[MapEntry]:
        while not self.take("}"):
            is_optional = self.take("?") is not None
            key = self.expression()
            self.expect(":")
            yield MapEntry(key, self.expression(), is_optional)
            if not self.take(","):
                self.expect("}")
                return
