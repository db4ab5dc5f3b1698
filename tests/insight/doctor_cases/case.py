"""A cluster, and the findings of the doctor."""

from typing import NamedTuple

from kit.builders.core import Object


class Case(NamedTuple):
    """One case."""

    id: str
    story: str
    cluster: tuple[Object, ...]
    about: str = ""
    """The object that is found; nothing is, where this is empty."""
    problem: str = ""
    fix: str = ""


def ill(id_: str, story: str, *cluster: Object, about: str, problem: str, fix: str) -> Case:
    return Case(id_, story, cluster, about, problem, fix)


def well(id_: str, story: str, *cluster: Object) -> Case:
    return Case(id_, story, cluster)
