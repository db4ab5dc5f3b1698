"""The frameworks that Kohort has itself."""

from kohort.jobs.contract import Framework
from kohort.jobs.frameworks.cronjob import CronJobs
from kohort.jobs.frameworks.deployment import Deployments
from kohort.jobs.frameworks.job import BatchJob
from kohort.jobs.frameworks.pods.framework import Pods
from kohort.jobs.frameworks.replicaset import ReplicaSets
from kohort.jobs.frameworks.statefulset import StatefulSets


def built_in_frameworks() -> list[Framework]:
    """One of each, for `registry_of`."""
    return [BatchJob(), CronJobs(), Deployments(), Pods(), ReplicaSets(), StatefulSets()]
