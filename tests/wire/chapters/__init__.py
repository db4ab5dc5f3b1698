"""The script, chapter by chapter; each is independent of the others."""

from wire.chapters import (
    applying,
    creating,
    custom,
    discovery,
    http_calls,
    kinds,
    python_calls,
    reading,
    refusals,
    removing,
    rights,
)
from wire.steps import Chapter

CHAPTERS: tuple[Chapter, ...] = (
    *discovery.CHAPTERS,
    *creating.CHAPTERS,
    *applying.CHAPTERS,
    *reading.CHAPTERS,
    *kinds.CHAPTERS,
    *removing.CHAPTERS,
    *rights.CHAPTERS,
    *refusals.CHAPTERS,
    *custom.CHAPTERS,
    *python_calls.CHAPTERS,
    *http_calls.CHAPTERS,
)
