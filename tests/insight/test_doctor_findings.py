"""Every finding of the doctor: a cluster where it appears, in these words, and one where it does not."""

from typing import NamedTuple

import pytest

from insight.clinic import (
    CLASS,
    GPU,
    QUEUE,
    Object,
    admission_check,
    ago,
    checked_by,
    cluster_queue,
    cohort,
    condition,
    flavor,
    found_by,
    job,
    local_queue,
    namespace,
    node,
    owned_by,
    priority_class,
    quota,
    resource_quota,
    running,
    taint,
    topology,
    workload,
)
from kohort.insight.doctor.examining import CHECKS

PROVISIONING = "kueue.x-k8s.io/provisioning-request"


class Case(NamedTuple):
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


A100 = {"gpu-type": "a100"}

NODES = (
    ill(
        "flavor-without-nodes",
        "a label in another spelling",
        flavor("a100", {"gpu-type": "A-100"}),
        cluster_queue("cq", quota(flavor="a100")),
        node("one", A100),
        node("two", A100),
        about="ResourceFlavor a100",
        problem="no node has the labels gpu-type=A-100; 2 nodes have gpu-type=a100",
        fix="kubectl label --overwrite node NODE gpu-type=A-100",
    ),
    ill(
        "flavor-without-nodes",
        "a key that no node has",
        flavor("a100", {"gpu_type": "a100"}),
        cluster_queue("cq", quota(flavor="a100")),
        node("one", A100),
        about="ResourceFlavor a100",
        problem="no node has the labels gpu_type=a100; 1 node has a label gpu-type",
        fix="correct spec.nodeLabels",
    ),
    well("flavor-without-nodes", "labels that match", flavor("f", A100), cluster_queue(), node("one", A100)),
    well("flavor-without-nodes", "a flavor for any node", flavor(), cluster_queue()),
    well("flavor-without-nodes", "no quota in it, so nobody relies on it", flavor("f", A100)),
    well(
        "flavor-without-nodes",
        "nodes that are made on demand",
        flavor("f", A100),
        admission_check("scale-up", condition("Active"), controller=PROVISIONING),
        cluster_queue(admissionChecksStrategy=checked_by("scale-up")),
    ),
    ill(
        "quota-above-nodes",
        "two queues and a cohort together promise more than there is",
        flavor("f", A100),
        cluster_queue("a", quota(16, GPU), cohortName="c"),
        cluster_queue("b", quota(16, GPU), cohortName="c"),
        cohort("c", quota(8, GPU)),
        *(node(f"n{n}", A100, gpu="8") for n in range(4)),
        about="ResourceFlavor f",
        problem="40 nvidia.com/gpu of quota, and its 4 nodes can give 32 to pods: 8 too much",
        fix="lower nominalQuota in a, b, c, or add nodes",
    ),
    ill(
        "quota-above-nodes",
        "a resource that the nodes do not have at all",
        flavor(),
        cluster_queue("cq", quota("1Gi", "memory")),
        node(cpu="8"),
        about="ResourceFlavor f",
        problem="1Gi memory of quota, and its 1 node can give 0 to pods",
        fix="add nodes",
    ),
    well("quota-above-nodes", "as much as there is", flavor(), cluster_queue("cq", quota(16)), node("a"), node("b")),
    ill(
        "flavors-share-nodes",
        "one flavor for all nodes beside one for some of them",
        flavor("any"),
        flavor("fast", A100),
        cluster_queue("cq", quota(16, flavor="any")),
        cluster_queue("other", quota(8, flavor="fast")),
        node("one", A100),
        node("two"),
        about="ResourceFlavor any",
        problem="counts the same nodes as fast: together 24 cpu of quota, on nodes with 16",
        fix="give each flavor nodeLabels that only its own nodes have",
    ),
    well(
        "flavors-share-nodes",
        "each has nodes of its own",
        flavor("slow", {"gpu-type": "none"}),
        flavor("fast", A100),
        cluster_queue("cq", quota(8, flavor="slow")),
        cluster_queue("other", quota(8, flavor="fast")),
        node("one", A100),
        node("two", {"gpu-type": "none"}),
    ),
    well(
        "flavors-share-nodes",
        "there is enough for both",
        flavor("any"),
        flavor("fast", A100),
        cluster_queue("cq", quota(4, flavor="any")),
        cluster_queue("other", quota(4, flavor="fast")),
        node("one", A100),
    ),
    ill(
        "untolerated-taint",
        "a taint on some of the nodes",
        flavor(),
        cluster_queue(),
        node("one", taints=[taint()]),
        node("two"),
        about="ResourceFlavor f",
        problem="1 of its 2 nodes carry the taint gpu=present:NoSchedule",
        fix="add to spec.tolerations: key gpu, operator Exists, effect NoSchedule",
    ),
    well(
        "untolerated-taint",
        "the flavor tolerates it",
        flavor(tolerations=[{"key": "gpu", "operator": "Exists"}]),
        cluster_queue(),
        node("one", taints=[taint()]),
    ),
    well(
        "untolerated-taint",
        "jobs must tolerate it themselves",
        flavor(nodeTaints=[taint()]),
        cluster_queue(),
        node("one", taints=[taint()]),
    ),
    well(
        "untolerated-taint",
        "a node that is not ready for a while",
        flavor(),
        cluster_queue(),
        node("one", taints=[taint("node.kubernetes.io/not-ready")]),
    ),
    ill(
        "node-without-flavor",
        "nodes beside the only flavor",
        flavor("f", A100),
        cluster_queue(),
        node("in", A100),
        node("out-1"),
        node("out-2", {"gpu-type": "h100"}),
        about="Node out-1",
        problem="2 nodes have the labels of no flavor with quota: out-1, out-2",
        fix="kubectl get node out-1 --show-labels",
    ),
    well("node-without-flavor", "a flavor for all", flavor(), cluster_queue(), node("one"), node("two", A100)),
    well(
        "node-without-flavor",
        "a node of the control plane",
        flavor("f", A100),
        cluster_queue(),
        node("one", A100),
        node("cp", {"node-role.kubernetes.io/control-plane": ""}),
    ),
    well("node-without-flavor", "no queues at all", node("one")),
    well(
        "node-without-flavor",
        "a slip in the only flavor, which is told already",
        flavor("f", A100),
        cluster_queue(),
        node(),
    ),
    ill(
        "pod-larger-than-nodes",
        "a pod for a node that nobody has",
        flavor(),
        running(cpus=12),
        node("one"),
        node("two"),
        about="Workload default/w",
        problem="each pod of main asks for 12 cpu, and the largest node of flavor f has 8",
        fix="ask for less in each pod",
    ),
    well("pod-larger-than-nodes", "it fits on one", flavor(), running(cpus=8), node("one")),
)

QUEUES = (
    ill(
        "local-queue-nowhere",
        "a name with a slip",
        cluster_queue("team-research"),
        local_queue("lq", "team-reserch"),
        workload(),
        about="LocalQueue default/lq",
        problem="there is no ClusterQueue team-reserch (did you mean team-research?); 1 workload waits in it",
        fix="create ClusterQueue team-reserch",
    ),
    ill(
        "local-queue-nowhere",
        "no name at all",
        local_queue("lq", ""),
        about="LocalQueue default/lq",
        problem="names no ClusterQueue",
        fix="set spec.clusterQueue",
    ),
    well("local-queue-nowhere", "it leads somewhere", cluster_queue(), local_queue()),
    ill(
        "no-namespace-selector",
        "as many guides leave it out",
        cluster_queue(namespaceSelector=None),
        local_queue(),
        about="ClusterQueue cq",
        problem="has no spec.namespaceSelector, which lets no namespace in, not even default",
        fix="""kubectl patch clusterqueue cq --type merge -p '{"spec":{"namespaceSelector":{}}}'""",
    ),
    well("no-namespace-selector", "open to all", cluster_queue()),
    ill(
        "namespace-not-selected",
        "a namespace without the label",
        namespace("default", team="vision"),
        cluster_queue(namespaceSelector={"matchLabels": {"team": "research"}}),
        local_queue(),
        about="LocalQueue default/lq",
        problem="the namespaceSelector of ClusterQueue cq does not match namespace default",
        fix="kubectl label namespace default",
    ),
    well(
        "namespace-not-selected",
        "a namespace with the label",
        namespace("default", team="research"),
        cluster_queue(namespaceSelector={"matchLabels": {"team": "research"}}),
        local_queue(),
    ),
    ill(
        "queue-inactive",
        "a flavor and a check that nobody made",
        cluster_queue(admissionChecksStrategy=checked_by("ready")),
        about="ClusterQueue cq",
        problem="references missing ResourceFlavor(s): f; references missing AdmissionCheck(s): ready",
        fix="create what is missing",
    ),
    ill(
        "queue-inactive",
        "a topology that nobody made",
        flavor("f", A100, topologyName="racks"),
        cluster_queue(),
        about="ClusterQueue cq",
        problem='there is no Topology "racks" for TAS flavor "f"',
        fix="create what is missing",
    ),
    well("queue-inactive", "all is there", flavor("f", A100, topologyName="racks"), topology("racks"), cluster_queue()),
    well("queue-inactive", "stopped on purpose", flavor(), cluster_queue(stopPolicy="Hold")),
    ill(
        "check-without-controller",
        "nobody took it up",
        admission_check("ready"),
        cluster_queue(admissionChecksStrategy=checked_by("ready")),
        about="AdmissionCheck ready",
        problem="its controller never took it up (example.com/check); 1 ClusterQueue is inactive for it",
        fix="run the controller example.com/check",
    ),
    ill(
        "check-without-controller",
        "its controller says no",
        admission_check("ready", condition("Active", "False", message="no config")),
        about="AdmissionCheck ready",
        problem="its controller says no: no config",
        fix="look at its logs",
    ),
    well("check-without-controller", "somebody answers", admission_check("ready", condition("Active"))),
    ill(
        "no-manager",
        "nobody has looked at the queues",
        {**cluster_queue(), "status": {}},
        about="ClusterQueue cq",
        problem="none of 1 ClusterQueue has a condition Active",
        fix="kohort install | kubectl apply",
    ),
    well("no-manager", "somebody has", cluster_queue()),
    well("no-manager", "there are no queues"),
    well("no-manager", "it is too early to tell", {**cluster_queue(made=ago(seconds=5)), "status": {}}),
    ill(
        "stopped-with-work",
        "a LocalQueue on hold",
        cluster_queue(),
        local_queue(stopPolicy="Hold"),
        workload("a"),
        workload("b"),
        about="LocalQueue default/lq",
        problem="spec.stopPolicy is Hold; 2 workloads wait, the oldest for 3d",
        fix="""kubectl patch localqueue lq -n default --type merge -p '{"spec":{"stopPolicy":"None"}}'""",
    ),
    ill(
        "stopped-with-work",
        "a ClusterQueue that was drained",
        cluster_queue(stopPolicy="HoldAndDrain"),
        local_queue(),
        workload("a"),
        about="ClusterQueue cq",
        problem="spec.stopPolicy is HoldAndDrain; 1 workload waits",
        fix="""kubectl patch clusterqueue cq --type merge -p '{"spec":{"stopPolicy":"None"}}'""",
    ),
    well("stopped-with-work", "nobody waits", cluster_queue(stopPolicy="Hold"), local_queue(stopPolicy="Hold")),
    well("stopped-with-work", "work waits in a queue that is open", cluster_queue(), local_queue(), workload()),
    ill(
        "strict-fifo-blocked",
        "several wait in strict order",
        cluster_queue(queueingStrategy="StrictFIFO"),
        local_queue(),
        workload("a"),
        workload("b"),
        about="ClusterQueue cq",
        problem="the first of 2 that wait holds up the others",
        fix='{"spec":{"queueingStrategy":"BestEffortFIFO"}}',
    ),
    well("strict-fifo-blocked", "who fits goes ahead", cluster_queue(), local_queue(), workload("a"), workload("b")),
    well(
        "strict-fifo-blocked", "only one waits", cluster_queue(queueingStrategy="StrictFIFO"), local_queue(), workload()
    ),
    ill(
        "queue-unused",
        "nobody points to it",
        cluster_queue(),
        about="ClusterQueue cq",
        problem="no LocalQueue points to it, and it is in no cohort to lend to",
        fix="create a LocalQueue with spec.clusterQueue cq",
    ),
    well("queue-unused", "somebody points to it", cluster_queue(), local_queue()),
    well("queue-unused", "it is there to lend", cluster_queue(cohortName="c")),
    ill(
        "flavor-unused",
        "quota is in another one",
        flavor("f"),
        flavor("g"),
        cluster_queue(),
        about="ResourceFlavor g",
        problem="no ClusterQueue and no Cohort has quota in it",
        fix="kubectl delete resourceflavor g",
    ),
    well("flavor-unused", "a queue has quota in it", flavor(), cluster_queue()),
    well("flavor-unused", "a cohort has quota in it", flavor(), cohort("c", quota())),
)

QUOTAS = (
    ill(
        "resource-quota-below-queue",
        "a namespace may have less than its queue",
        cluster_queue("cq", quota(16, GPU)),
        local_queue(),
        resource_quota(f"requests.{GPU}", "8"),
        about="ResourceQuota default/rq",
        problem="lets pods request 8 nvidia.com/gpu, and the queues of the namespace have 16 of nominalQuota in cq",
        fix="kubectl edit resourcequota rq -n default",
    ),
    ill(
        "resource-quota-below-queue",
        "the short name counts too, and two ways to one queue count once",
        cluster_queue("cq", quota(16)),
        local_queue("a"),
        local_queue("b"),
        resource_quota("cpu", "15"),
        about="ResourceQuota default/rq",
        problem="lets pods request 15 cpu, and the queues of the namespace have 16 of nominalQuota in cq",
        fix="leave cpu to the queues",
    ),
    well(
        "resource-quota-below-queue", "as much as the queue", cluster_queue(), local_queue(), resource_quota("cpu", "8")
    ),
    well(
        "resource-quota-below-queue",
        "another namespace",
        cluster_queue(),
        local_queue(),
        resource_quota("cpu", "1", "x"),
    ),
    well(
        "resource-quota-below-queue",
        "only for some pods",
        cluster_queue(),
        local_queue(),
        resource_quota("cpu", "1", scopes=["BestEffort"]),
    ),
    ill(
        "resource-quota-below-borrowing",
        "enough for what is its own, not for what it may borrow",
        cluster_queue(cohortName="c"),
        cluster_queue("other", cohortName="c"),
        local_queue(),
        resource_quota("cpu", "10"),
        about="ResourceQuota default/rq",
        problem="lets pods request 10 cpu, and the queues of the namespace have up to 16, borrowing included, in cq",
        fix="take it out of spec.hard",
    ),
    well(
        "resource-quota-below-borrowing",
        "a limit on borrowing that is lower",
        cluster_queue("cq", quota(8, borrowingLimit=2), cohortName="c"),
        cluster_queue("other", cohortName="c"),
        local_queue(),
        resource_quota("cpu", "10"),
    ),
)

COHORTS = (
    ill(
        "never-borrows",
        "alone in its cohort",
        cluster_queue(cohortName="c"),
        about="ClusterQueue cq",
        problem="can borrow nothing from cohort c: it is alone there",
        fix="set spec.cohortName: c in the other queues too",
    ),
    ill(
        "never-borrows",
        "the others lend nothing",
        cluster_queue(cohortName="c"),
        cluster_queue("other", quota(8, lendingLimit=0, borrowingLimit=4), cohortName="c"),
        about="ClusterQueue cq",
        problem="can borrow nothing from cohort c: other lends nothing",
        fix="raise their lendingLimit",
    ),
    ill(
        "never-borrows",
        "the others have other flavors",
        cluster_queue(cohortName="c"),
        cluster_queue("other", quota(flavor="g", borrowingLimit=0), cohortName="c"),
        about="ClusterQueue cq",
        problem="can borrow nothing from cohort c: other has quota in other flavors or resources only",
        fix="use the same flavors",
    ),
    ill(
        "never-borrows",
        "its own limit says so",
        cluster_queue("cq", quota(8, borrowingLimit=0), cohortName="c"),
        cluster_queue("other", cohortName="c"),
        about="ClusterQueue cq",
        problem="can borrow nothing from cohort c: borrowingLimit is 0 everywhere",
        fix="raise borrowingLimit",
    ),
    well("never-borrows", "two that share", cluster_queue("a", cohortName="c"), cluster_queue("b", cohortName="c")),
    well("never-borrows", "the cohort itself brings quota", cluster_queue(cohortName="c"), cohort("c", quota())),
    well("never-borrows", "no cohort", cluster_queue()),
    ill(
        "cohort-cycle",
        "two parents of each other",
        cohort("a", parentName="b"),
        cohort("b", parentName="a"),
        cluster_queue(cohortName="a"),
        about="Cohort a",
        problem="following spec.parentName from b on never ends",
        fix="take spec.parentName out",
    ),
    well("cohort-cycle", "a tree", cohort("a", parentName="b"), cohort("b"), cluster_queue(cohortName="a")),
    ill(
        "cohort-unused",
        "quota without queues",
        cohort("c", quota()),
        about="Cohort c",
        problem="has quota, and no ClusterQueue below it",
        fix="set spec.cohortName: c",
    ),
    well(
        "cohort-unused",
        "a queue two floors below",
        cohort("top", quota()),
        cohort("c", parentName="top"),
        cluster_queue(cohortName="c"),
    ),
    well(
        "cohort-unused",
        "a cohort whose quota goes up to its parent",
        cohort("c", quota(), parentName="top"),
        cluster_queue(cohortName="top"),
    ),
    ill(
        "long-runs-preemptible",
        "two hours on borrowed quota",
        cluster_queue(cohortName="c"),
        cluster_queue("lender", cohortName="c", preemption={"reclaimWithinCohort": "Any"}),
        running(cpus=12),
        about="ClusterQueue cq",
        problem="uses borrowed quota, and 1 of its workloads has run for more than 1h (the longest for 2h); lender may "
        "take it back",
        fix="write checkpoints",
    ),
    well(
        "long-runs-preemptible",
        "within its own quota",
        cluster_queue(cohortName="c"),
        cluster_queue("lender", cohortName="c", preemption={"reclaimWithinCohort": "Any"}),
        running(cpus=8),
    ),
    well(
        "long-runs-preemptible",
        "nobody reclaims",
        cluster_queue(cohortName="c"),
        cluster_queue("lender", cohortName="c"),
        running(cpus=12),
    ),
    well(
        "long-runs-preemptible",
        "who reclaims owns nothing of what was borrowed",
        cluster_queue(cohortName="c"),
        cluster_queue("other", quota(8, GPU), cohortName="c", preemption={"reclaimWithinCohort": "Any"}),
        cohort("c", quota(8)),
        running(cpus=12),
    ),
    well(
        "long-runs-preemptible",
        "just started",
        cluster_queue(cohortName="c"),
        cluster_queue("lender", cohortName="c", preemption={"reclaimWithinCohort": "Any"}),
        running(cpus=12, since=ago(minutes=5)),
    ),
    ill(
        "serving-preemptible",
        "a notebook among jobs",
        cluster_queue(preemption={"withinClusterQueue": "LowerPriority"}),
        running(metadata=owned_by("StatefulSet", "notebook")),
        about="ClusterQueue cq",
        problem="1 workload (StatefulSet default/notebook) may be evicted: withinClusterQueue is LowerPriority",
        fix="move them to a queue outside the cohort",
    ),
    ill(
        "serving-preemptible",
        "a notebook on what is borrowed",
        cluster_queue(cohortName="c"),
        cluster_queue("lender", cohortName="c", preemption={"reclaimWithinCohort": "LowerPriority"}),
        running(metadata=owned_by("StatefulSet", "notebook")),
        about="ClusterQueue cq",
        problem="may be evicted: lender may reclaim what it borrows",
        fix="withinClusterQueue: Never",
    ),
    ill(
        "serving-preemptible",
        "a pod of a Deployment",
        cluster_queue(preemption={"withinClusterQueue": "LowerPriority"}),
        running(metadata=owned_by("Pod", "web-1"), restart_policy="Always"),
        about="ClusterQueue cq",
        problem="1 workload (Pod default/web-1) may be evicted",
        fix="withinClusterQueue: Never",
    ),
    well(
        "serving-preemptible",
        "a pod that comes to an end",
        cluster_queue(preemption={"withinClusterQueue": "LowerPriority"}),
        running(metadata=owned_by("Pod", "once")),
    ),
    well(
        "serving-preemptible",
        "a queue that evicts nobody",
        cluster_queue(),
        running(metadata=owned_by("StatefulSet", "notebook")),
    ),
    well(
        "serving-preemptible",
        "a job, which can wait",
        cluster_queue(preemption={"withinClusterQueue": "LowerPriority"}),
        running(metadata=owned_by("Job", "train")),
    ),
)

JOBS = (
    ill(
        "job-without-queue",
        "two that go past the queue",
        local_queue(),
        job("a"),
        job("b"),
        about="Namespace default",
        problem="2 Jobs name no queue and are held by none: a, b",
        fix=f"write the label {QUEUE}: lq into their manifests",
    ),
    well("job-without-queue", "it is queued", local_queue(), job(labels={QUEUE: "lq"})),
    well("job-without-queue", "a namespace without queues", job()),
    well("job-without-queue", "it is over", local_queue(), job(status={"conditions": [condition("Complete")]})),
    well("job-without-queue", "its owner is queued", local_queue(), job(**owned_by("JobSet", "set"))),
    ill(
        "queue-in-annotation",
        "as a guide has it",
        job(annotations={QUEUE: "lq"}),
        about="Job default/j",
        problem="names its queue, lq, in an annotation",
        fix=f"kubectl label job j -n default {QUEUE}=lq",
    ),
    well("queue-in-annotation", "a label beside it", job(labels={QUEUE: "lq"}, annotations={QUEUE: "lq"})),
    ill(
        "queue-missing",
        "a queue with another name",
        local_queue("research"),
        workload("a", "reserch"),
        workload("b", "reserch"),
        about="LocalQueue default/reserch",
        problem="2 workloads wait for this queue, which does not exist: did you mean research?",
        fix="create LocalQueue default/reserch",
    ),
    well("queue-missing", "the queue is there", local_queue(), workload()),
    ill(
        "priority-class-missing",
        "a class that nobody made",
        priority_class("high"),
        job(labels={QUEUE: "lq", CLASS: "hihg"}),
        about="WorkloadPriorityClass hihg",
        problem="1 Job names this class, which does not exist: did you mean high? (j)",
        fix="create WorkloadPriorityClass hihg",
    ),
    well(
        "priority-class-missing", "the class is there", priority_class("high"), job(labels={QUEUE: "lq", CLASS: "high"})
    ),
    ill(
        "priority-class-unused",
        "nobody uses it",
        priority_class("high"),
        workload(),
        about="WorkloadPriorityClass high",
        problem="no workload names it",
        fix=f"use the label {CLASS}: high",
    ),
    well(
        "priority-class-unused",
        "somebody does",
        priority_class("high"),
        workload(priorityClassRef={"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}),
    ),
    ill(
        "uncovered-resource",
        "memory that the queue knows nothing of",
        cluster_queue(),
        local_queue(),
        workload(requests={"cpu": "1", "memory": "1Gi"}),
        about="ClusterQueue cq",
        problem="1 waiting workload asks for memory, which it does not cover (default/w)",
        fix="add memory to coveredResources",
    ),
    well("uncovered-resource", "all is covered", cluster_queue(), local_queue(), workload()),
    well(
        "uncovered-resource",
        "it was admitted before",
        cluster_queue("cq", quota(8, "memory")),
        local_queue(),
        running(),
    ),
    ill(
        "request-beyond-quota",
        "more pods than the queue has CPUs",
        cluster_queue("cq", quota(8, borrowingLimit=2), cohortName="c"),
        cluster_queue("other", cohortName="c"),
        local_queue(),
        workload("w", "lq", 11),
        about="Workload default/w",
        problem="11 pods ask for 11 cpu, and no flavor of ClusterQueue cq can ever give more than 10",
        fix="raise nominalQuota or borrowingLimit",
    ),
    well(
        "request-beyond-quota",
        "just as much as it can borrow",
        cluster_queue("cq", quota(8, borrowingLimit=2), cohortName="c"),
        cluster_queue("other", cohortName="c"),
        local_queue(),
        workload("w", "lq", 10),
    ),
    well(
        "request-beyond-quota",
        "fewer pods would do",
        cluster_queue(),
        local_queue(),
        workload("w", "lq", 16, min_count=4),
    ),
)

WORKLOADS = (
    ill(
        "workload-inactive",
        "put to rest three days ago",
        workload("a", active=False),
        about="LocalQueue default/lq",
        problem="1 workload is inactive for more than 1d, the longest for 3d: a",
        fix="""kubectl patch workload a -n default --type merge -p '{"spec":{"active":true}}'""",
    ),
    well(
        "workload-inactive",
        "an hour ago",
        workload("w", "lq", 1, condition("Evicted", since=ago(hours=1)), active=False),
    ),
    well("workload-inactive", "over", workload("w", "lq", 1, condition("Finished"), active=False)),
    ill(
        "check-stuck",
        "two hours without an answer",
        workload(
            "w",
            "lq",
            1,
            condition("QuotaReserved"),
            status={
                "admissionChecks": [
                    {"name": "ready", "state": "Pending", "message": "", "lastTransitionTime": ago(hours=2)}
                ]
            },
        ),
        about="LocalQueue default/lq",
        problem="1 workload is holding quota and waiting for ready for more than 1h: w",
        fix="kubectl describe workload w -n default",
    ),
    well("check-stuck", "admitted", running()),
    well("check-stuck", "for a minute", workload("w", "lq", 1, condition("QuotaReserved", since=ago(minutes=1)))),
    ill(
        "admitted-not-running",
        "no pod was ever made",
        running(metadata=owned_by("Job", "j")),
        job(),
        about="Job default/j",
        problem="was admitted 2h ago, holds its quota, and has no pods at all",
        fix="look for FailedCreate",
    ),
    ill(
        "admitted-not-running",
        "pods that find no node",
        running(metadata=owned_by("Job", "j")),
        job(status={"active": 3}),
        about="Job default/j",
        problem="was admitted 2h ago, holds its quota, and has 3 pods, none of them ready",
        fix="FailedScheduling",
    ),
    well(
        "admitted-not-running", "it runs", running(metadata=owned_by("Job", "j")), job(status={"active": 3, "ready": 1})
    ),
    well("admitted-not-running", "just admitted", running(since=ago(minutes=1), metadata=owned_by("Job", "j")), job()),
)

OBJECTS = (
    ill(
        "unreadable-object",
        "a text where a list should be",
        {**cluster_queue(), "spec": {"resourceGroups": "all"}},
        about="ClusterQueue cq",
        problem="can't be read: ",
        fix="kubectl edit clusterqueue cq",
    ),
    well("unreadable-object", "all have their shape", cluster_queue()),
)

CASES = (*NODES, *QUEUES, *QUOTAS, *COHORTS, *JOBS, *WORKLOADS, *OBJECTS)


@pytest.mark.parametrize("case", [each for each in CASES if each.about], ids=lambda case: f"{case.id}: {case.story}")
def test_it_is_found(case: Case) -> None:
    found = {str(each.sighting.subject): each.sighting for each in found_by(case.id, *case.cluster)}
    assert case.about in found
    assert case.problem in found[case.about].problem
    assert case.fix in found[case.about].fix


@pytest.mark.parametrize(
    "case", [each for each in CASES if not each.about], ids=lambda case: f"{case.id}: {case.story}"
)
def test_it_is_not_found(case: Case) -> None:
    assert found_by(case.id, *case.cluster) == []


def test_every_check_is_told_to_appear_and_told_not_to() -> None:
    ids = {each.id for each in CHECKS}
    assert {case.id for case in CASES if case.about} == ids
    assert {case.id for case in CASES if not case.about} == ids
