"""Facts about each kind of jobs, one small module per operator."""

from typing import Final

from real_operators.job_kind import JobKind
from real_operators.kinds.jobset import JOBSET

KINDS: Final[tuple[JobKind, ...]] = (JOBSET,)
