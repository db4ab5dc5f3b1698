"""Tokenizes CEL."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kohort.embedded.cel.errors import CompileError
from kohort.embedded.cel.values import UInt

MAX_INT = 2**63 - 1
MAX_UINT = 2**64 - 1

_TOKEN = re.compile(
    r"""
      (?P<space>(?:[ \t\r\n\f]|//[^\n]*)+)
    | (?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    | (?P<int>(?:0x[0-9a-fA-F]+|[0-9]+)[uU]?)
    | (?P<text>[bB]?(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}
        |"(?:\\.|[^\\"\n])*"|'(?:\\.|[^\\'\n])*'))
    | (?P<name>[_a-zA-Z][_a-zA-Z0-9]*)
    | (?P<sign>&&|\|\||[<>=!]=|[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)

_RAW = re.compile(r"""(?P<raw>(?:[rR][bB]?|[bB][rR])(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*'))""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Token:
    """A token; literals carry their value."""

    kind: str
    text: str
    position: int
    value: Any = None


def tokens(text: str) -> list[Token]:
    """All tokens, terminated by one of kind `end`."""
    found: list[Token] = []
    position = 0
    while position < len(text):
        match = _RAW.match(text, position) or _TOKEN.match(text, position)
        if match is None:
            raise CompileError(f"Syntax error: token recognition error at: '{text[position]}'", text, position)
        kind = str(match.lastgroup)
        if kind != "space":
            found.append(_token(kind, match[0], position, text))
        position = match.end()
    return [*found, Token("end", "<EOF>", len(text))]


def _token(kind: str, piece: str, position: int, text: str) -> Token:
    try:
        value = _VALUES[kind](piece) if kind in _VALUES else None
    except ValueError as error:
        raise CompileError(str(error), text, position) from None
    return Token("literal" if kind in _VALUES else kind, piece, position, value)


def _integer(piece: str) -> int:
    digits = piece.rstrip("uU")
    number = int(digits, 16 if digits[:2] == "0x" else 10)
    if digits != piece:
        if number > MAX_UINT:
            raise ValueError("invalid uint literal")
        return UInt(number)
    # One above the maximum: the minus sign of the minimum integer is a separate operator.
    if number > MAX_INT + 1:
        raise ValueError("invalid int literal")
    return number


_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE = re.compile(
    r"\\(?:[xX](?P<byte>[0-9a-fA-F]{2})|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})"
    r"|(?P<octal>[0-3][0-7]{2})|(?P<sign>[abfnrtv\\'\"`?])|(?P<bad>.|$))",
    re.DOTALL,
)


def _text(piece: str) -> str | bytes:
    start = min(index for index, character in enumerate(piece) if character in "'\"")
    prefix, quoted = piece[:start].lower(), piece[start:]
    width = 3 if quoted[:3] in ('"""', "'''") and len(quoted) >= 6 else 1
    body = quoted[width:-width]
    if "b" in prefix:
        return body.encode() if "r" in prefix else _unescaped_bytes(body)
    return body if "r" in prefix else _ESCAPE.sub(lambda match: chr(_code(match)), body)


def _code(match: re.Match[str]) -> int:
    if match["bad"] is not None:
        raise ValueError(f"Syntax error: invalid escape sequence: '{match[0]}'")
    if match["sign"]:
        return ord(_ESCAPES.get(match["sign"], match["sign"]))
    if match["octal"]:
        return int(match["octal"], 8)
    code = int(match["byte"] or match["short"] or match["long"], 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ValueError("invalid unicode code point")
    return code


def _unescaped_bytes(body: str) -> bytes:
    """In bytes, `\\x` and octal escapes are bytes, not code points."""
    parts: list[bytes] = []
    end = 0
    for match in _ESCAPE.finditer(body):
        code = _code(match)
        is_byte = match["byte"] or match["octal"]
        parts += [body[end : match.start()].encode(), bytes([code]) if is_byte else chr(code).encode()]
        end = match.end()
    return b"".join([*parts, body[end:].encode()])


_VALUES: dict[str, Callable[[str], Any]] = {"float": float, "int": _integer, "text": _text, "raw": _text}
