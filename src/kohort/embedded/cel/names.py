"""Names used in an expression."""

from collections.abc import Iterator

from kohort.embedded.cel import syntax as s


def names_in(node: s.Expression) -> frozenset[str]:
    """The free names of an expression, without loop variables."""
    return frozenset(_free(node))


def _free(node: s.Expression) -> Iterator[str]:
    if isinstance(node, s.Name):
        yield node.name
    elif isinstance(node, s.Macro):
        yield from _free(node.operand)
        for argument in node.arguments:
            yield from (name for name in _free(argument) if name not in node.variables)
    else:
        for below in children(node):
            yield from _free(below)


def paths_in(node: s.Expression, variable: str) -> Iterator[tuple[str, ...]]:
    """The members of a variable that an expression accesses; an empty path is the whole variable."""
    path = _path(node, variable)
    if path is not None:
        yield path
        return
    is_hidden = isinstance(node, s.Macro) and variable in node.variables
    for below in children(node)[:1] if is_hidden else children(node):
        yield from paths_in(below, variable)


def member_accesses(node: s.Expression, variable: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Every accessed member of a variable as a path, and its offset in the text."""
    is_hidden = isinstance(node, s.Macro) and variable in node.variables
    for below in children(node)[:1] if is_hidden else children(node):
        yield from member_accesses(below, variable)
    path = _path(node, variable)
    if path:
        yield path, node.position


def _path(node: s.Expression, variable: str) -> tuple[str, ...] | None:
    if isinstance(node, s.Name):
        return () if node.name == variable else None
    if isinstance(node, s.Select | s.Has):
        head = _path(node.operand, variable)
        return None if head is None else (*head, node.field)
    return None


def children(node: s.Expression) -> tuple[s.Expression, ...]:
    """The direct child nodes."""
    match node:
        case s.Select() | s.Has():
            return (node.operand,)
        case s.Index():
            return (node.operand, node.key)
        case s.CallExpr():
            return node.arguments if node.target is None else (node.target, *node.arguments)
        case s.ListLiteral():
            return tuple(item.value for item in node.items)
        case s.MapLiteral():
            return tuple(part for entry in node.entries for part in (entry.key, entry.value))
        case s.Macro():
            return (node.operand, *node.arguments)
    return ()
