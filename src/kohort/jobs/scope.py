"""Which jobs are managed (§3): by namespace, queue name and owners."""

from collections.abc import Mapping
from copy import deepcopy
from functools import lru_cache

from kohort.api.codec import JsonObject, decode, encode
from kohort.api.config.v1beta2 import Configuration
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import LabelSelector
from kohort.api.selectors import Selector, compile_selector
from kohort.engine.lifecycle.conditions import is_admitted, is_evicted, is_finished
from kohort.jobs.contract import ClusterReader
from kohort.jobs.effects import PatchObject
from kohort.jobs.keys import SLICE_REPLACEMENT_ANNOTATION
from kohort.jobs.objects import metadata, queue_name, requests_slices, uid
from kohort.jobs.reconcile_pass import DONE, EndPass, ReconcilePass


def selects_namespace(configuration: Configuration, labels: Mapping[str, str]) -> bool:
    """Whether jobs of a namespace with these labels are managed at all (JOB-1)."""
    return _compiled(encode(configuration.managed_jobs_namespace_selector)).matches(labels)


@lru_cache(maxsize=16)
def _compiled(selector: bytes) -> Selector:
    """The compiled selector, cached by its text, because structs with maps are not hashable."""
    return compile_selector(decode(selector, LabelSelector))


def in_scope(this: ReconcilePass, ancestor: JsonObject | None) -> EndPass | None:
    """End the pass if the job is not managed, or its ancestor is queued instead (JOB-12)."""
    labels = this.reads.namespace_labels(this.key.namespace)
    if labels is None or not selects_namespace(this.reads.configuration, labels):
        return DONE
    if ancestor is not None:
        _suspend_with_ancestor(this, ancestor)
        return DONE
    if not queue_name(this.obj) and not this.reads.configuration.manage_jobs_without_queue_name:
        return DONE
    return None


def _suspend_with_ancestor(this: ReconcilePass, ancestor: JsonObject) -> None:
    """Suspend a job whose managed ancestor may not run (JOB-6)."""
    framework, obj = this.framework, this.obj
    if framework.is_suspended(obj) or framework.finished(obj) is not None:
        return
    if not _must_wait(this, _newest(this, ancestor), ancestor):
        return
    suspended = deepcopy(obj)
    framework.suspend(suspended)
    this.effects.append(PatchObject(obj, suspended))
    this.record_event("Suspended", "Kueue managed child job suspended")


def _must_wait(this: ReconcilePass, workload: Workload | None, ancestor: JsonObject) -> bool:
    if workload is None:
        return True
    gates = this.reads.gates
    if requests_slices(this.obj, gates) or requests_slices(ancestor, gates):
        return is_evicted(workload)
    return not is_admitted(workload)


def _newest(this: ReconcilePass, ancestor: JsonObject) -> Workload | None:
    """The ancestor's newest unfinished Workload."""
    living = [each for each in workloads_of(ancestor, this.reads) if not is_finished(each)]
    return living[-1] if living else None


def workloads_of(ancestor: JsonObject, reads: ClusterReader) -> list[Workload]:
    """The Workloads of an ancestor that are cached, oldest first."""
    head = metadata(ancestor)
    version, kind = ancestor.get("apiVersion", ""), ancestor.get("kind", "")
    owned = reads.owned_workloads(head.get("namespace", ""), version, kind, head.get("name", ""))
    return [each for each in owned if is_owned_by(each, ancestor)]


def is_owned_by(workload: Workload, ancestor: JsonObject) -> bool:
    """Whether the ancestor owns the Workload, by UID."""
    return any(owner.uid == uid(ancestor) for owner in workload.metadata.owner_references)


def may_run(workload: Workload) -> bool:
    """Whether pods of the Workload's job may run: it is admitted, or replaces a slice that was (DEV-9, JOB-81)."""
    if is_finished(workload) or is_evicted(workload):
        return False
    return is_admitted(workload) or SLICE_REPLACEMENT_ANNOTATION in workload.metadata.annotations


def may_end(workload: Workload) -> bool:
    """Whether pods of a job that ends may still run: its quota is kept until they are gone, also if it is evicted."""
    return is_admitted(workload) and not is_finished(workload)
