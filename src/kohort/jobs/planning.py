"""Plans one reconcile pass over one job (§4): pure, so that tests can repeat and interrupt it."""

from kohort.api.codec import JsonObject
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.finishing import finish, without_finalizer
from kohort.jobs.contract import Framework, JobKey
from kohort.jobs.errors import JobError
from kohort.jobs.objects import is_terminating
from kohort.jobs.reconcile_pass import DONE, EndPass, PassPlan, PassReader, ReconcilePass
from kohort.jobs.scope import in_scope
from kohort.jobs.steps import PASS_STEPS

ORPHANED = "The workload's owner no longer exists"


def plan_pass(
    framework: Framework, key: JobKey, obj: JsonObject | None, ancestor: JsonObject | None, reads: PassReader
) -> PassPlan:
    """The plan for a job; `ancestor` is its managed ancestor, which is queued instead (JOB-9 to JOB-25)."""
    this = ReconcilePass(framework, key, obj if obj is not None else {}, reads)
    try:
        end = _run(this, obj, ancestor)
    except JobError as error:
        return PassPlan((*this.effects, *error.effects), error)
    return PassPlan(tuple(this.effects), requeue_after=end.requeue_after)


def _run(this: ReconcilePass, obj: JsonObject | None, ancestor: JsonObject | None) -> EndPass:
    if obj is not None and this.framework.skips(obj, this.reads):
        return DONE
    if obj is None or is_terminating(obj) or not this.framework.claims(obj):
        return _finalize(this, obj)
    end = in_scope(this, ancestor)
    for step in PASS_STEPS if end is None else ():
        end = step(this)
        if end is not None:
            break
    return end or DONE


def _finalize(this: ReconcilePass, obj: JsonObject | None) -> EndPass:
    """S2: finish the Workloads of a job that is deleted or being deleted (JOB-11, JOB-58)."""
    for each in this.framework.workloads(this.key, this.reads):
        if obj is None and _awaits_members(this.framework, each):
            continue
        current = each
        controlled = any(owner.controller for owner in each.metadata.owner_references)
        if controlled and each.metadata.deletion_timestamp is None:
            ended = finish(each, reasons.OWNER_NOT_FOUND, ORPHANED, this.reads.now)
            current = this.write_status(each, ended)
        this.write_object(current, without_finalizer(current))
    if obj is not None:
        this.effects.extend(this.framework.finalize(obj))
    return DONE


def _awaits_members(framework: Framework, workload: Workload) -> bool:
    """Whether a Workload was created for members that do not exist yet, by their common owner (JOB-176, JOB-182)."""
    owners = {owner.kind for owner in workload.metadata.owner_references if not owner.controller}
    return bool(owners - {framework.resource.kind}) and workload.metadata.deletion_timestamp is None
