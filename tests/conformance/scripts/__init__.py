"""All scripts; each is independent of the others."""

from conformance.script import Script
from conformance.scripts import (
    access_control,
    apply,
    builtin_kinds,
    create,
    custom_resources,
    delete,
    discovery,
    http_calls,
    python_calls,
    read,
    rejections,
)

SCRIPTS: tuple[Script, ...] = (
    *discovery.CHAPTERS,
    *create.CHAPTERS,
    *apply.CHAPTERS,
    *read.CHAPTERS,
    *builtin_kinds.CHAPTERS,
    *delete.CHAPTERS,
    *access_control.CHAPTERS,
    *rejections.CHAPTERS,
    *custom_resources.CHAPTERS,
    *python_calls.CHAPTERS,
    *http_calls.CHAPTERS,
)
