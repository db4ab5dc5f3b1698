"""The built-in frameworks."""

from kohort.jobs.contract import Framework
from kohort.jobs.frameworks.cronjob import CronJobFramework
from kohort.jobs.frameworks.deployment import DeploymentFramework
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.frameworks.pods.framework import PodFramework
from kohort.jobs.frameworks.replicaset import ReplicaSetFramework
from kohort.jobs.frameworks.statefulset import StatefulSetFramework


def built_in_frameworks() -> list[Framework]:
    """One instance of each built-in framework."""
    return [
        BatchJobFramework(),
        CronJobFramework(),
        DeploymentFramework(),
        PodFramework(),
        ReplicaSetFramework(),
        StatefulSetFramework(),
    ]
