"""What is allowed and probably not meant."""

from kohort.jobs.contract import Framework
from kohort.jobs.defaulting.facts import JobFacts
from kohort.jobs.effects import Object
from kohort.jobs.keys import MANAGED_LABEL, SUSPENDING_PARENT_ANNOTATION
from kohort.jobs.objects import annotations, labels


def managed_pod_warnings(framework: Framework, new: Object, old: Object | None, facts: JobFacts) -> list[str]:
    """A pod that is marked as queued by itself although its owner may be queued (JOB-147)."""
    if not framework.is_top_level or labels(new).get(MANAGED_LABEL) != "true":
        return []
    is_parents = old is not None and SUSPENDING_PARENT_ANNOTATION in annotations(new)
    if is_parents or not facts.has_owner_of_managed_kind:
        return []
    return [f"pod owner is managed by kueue, label '{MANAGED_LABEL}=true' might lead to unexpected behaviour"]
