"""Facts about each kind of jobs, one small module per operator."""

from typing import Final

from real_operators.job_kind import JobKind
from real_operators.kinds.jobset import JOBSET
from real_operators.kinds.lws import LEADERWORKERSET
from real_operators.kinds.mpi import MPIJOB
from real_operators.kinds.ray import RAYCLUSTER, RAYJOB, RAYSERVICE
from real_operators.kinds.training import TRAINING_JOBS

KINDS: Final[tuple[JobKind, ...]] = (
    JOBSET,
    *TRAINING_JOBS,
    MPIJOB,
    RAYCLUSTER,
    RAYJOB,
    RAYSERVICE,
    LEADERWORKERSET,
)
