"""Regular expression functions."""

from kohort.embedded.cel.errors import EvaluationError
from kohort.embedded.cel.overloads import function, method
from kohort.embedded.cel.regex import Re2Pattern, RegexError, compile_pattern


def _pattern(text: str) -> Re2Pattern:
    try:
        return compile_pattern(text)
    except RegexError as error:
        raise EvaluationError(f"error parsing regexp: {error}") from None


@function("matches", str, str)
@method("matches", str, str)
def _matches(text: str, pattern: str) -> bool:
    return _pattern(pattern).matches(text)


@method("find", str, str)
def _find(text: str, pattern: str) -> str:
    return next(_pattern(pattern).found(text), "")


@method("findAll", str, str)
def _find_all(text: str, pattern: str) -> list[str]:
    return list(_pattern(pattern).found(text))


@method("findAll", str, str, int)
def _find_some(text: str, pattern: str, limit: int) -> list[str]:
    found = list(_pattern(pattern).found(text))
    return found if limit < 0 else found[:limit]
