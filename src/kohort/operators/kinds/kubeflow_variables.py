"""Environment of the pods of the Training Operator's kinds."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kohort.api.codec import JsonObject, encode
from kohort.jobs.objects import value_at

Variables = Mapping[str, str | JsonObject]
"""Values, or where they come from, by name."""
_UNBUFFERED = {"PYTHONUNBUFFERED": "1"}


@dataclass(frozen=True, slots=True)
class Replica:
    """One pod of a job: its place among the replica types, and the ports of their default containers."""

    job: JsonObject
    type: str
    index: int
    counts: dict[str, int]
    """The number of pods of each type."""
    ports: dict[str, int]

    @property
    def total(self) -> int:
        """The number of pods of the job."""
        return sum(self.counts.values())

    def host(self, type_: str, index: int = 0) -> str:
        """The name of a pod and its Service."""
        return f"{self.job['metadata']['name']}-{type_.lower()}-{index}"


def pytorch(replica: Replica) -> Variables:
    """Addresses of torch.distributed and torchrun."""
    spec = replica.job["spec"]
    policy: JsonObject | None = spec.get("elasticPolicy")
    found = dict(_UNBUFFERED)
    processes = spec.get("nprocPerNode")
    if processes is None and (policy is None or policy.get("nProcPerNode") is None):
        processes = "auto"
    if "Master" in replica.counts:
        size = replica.total * (int(processes) if str(processes).isdigit() else 1)
        rank = str(replica.index + (replica.type == "Worker"))
        port, address = str(replica.ports["Master"]), replica.host("Master")
        found |= {"MASTER_PORT": port, "PET_MASTER_PORT": port, "MASTER_ADDR": address, "PET_MASTER_ADDR": address}
        found |= {"WORLD_SIZE": str(size), "RANK": rank, "PET_NODE_RANK": rank}
    if processes is not None:
        found["PET_NPROC_PER_NODE"] = str(processes)
    if policy is None:
        return {**found, "PET_NNODES": str(replica.total)}
    return {**found, **_rendezvous(replica, policy)}


def _rendezvous(replica: Replica, policy: JsonObject) -> Variables:
    workers = replica.counts.get("Worker", 0)
    smallest, largest = policy.get("minReplicas"), policy.get("maxReplicas")
    low = next((each for each in (smallest, largest) if each is not None), workers)
    high = next((each for each in (largest, smallest) if each is not None), workers)
    host = policy.get("rdzvHost") or replica.host("Worker")
    found = {
        "PET_RDZV_ENDPOINT": f"{host}:{policy.get('rdzvPort') or replica.ports.get('Worker')}",
        "PET_RDZV_BACKEND": str(policy.get("rdzvBackend") or "c10d"),
        "PET_NNODES": f"{low}:{high}",
    }
    for field, name in (("maxRestarts", "MAX_RESTARTS"), ("nProcPerNode", "NPROC_PER_NODE"), ("rdzvId", "RDZV_ID")):
        if policy.get(field) is not None:
            found[f"PET_{name}"] = str(policy[field])
    if policy.get("rdzvConf"):
        found["PET_RDZV_CONF"] = ",".join(f"{each['key']}={each['value']}" for each in policy["rdzvConf"])
    return {**found, "PET_STANDALONE": ""} if policy.get("standalone") else found


def tensorflow(replica: Replica) -> Variables:
    """TF_CONFIG, if there is more than one pod."""
    if replica.total == 1:
        return {}
    cluster = {
        type_.lower(): [f"{host}:{replica.ports[type_]}" for host in _hosts(replica, type_)] for type_ in replica.counts
    }
    task = {"type": replica.type.lower(), "index": replica.index}
    return {"TF_CONFIG": encode({"cluster": cluster, "task": task, "environment": "cloud"}).decode()}


def _hosts(replica: Replica, type_: str) -> Iterator[str]:
    namespace = value_at(replica.job, ("metadata", "namespace"))
    return (f"{replica.host(type_, index)}.{namespace}.svc" for index in range(replica.counts[type_]))


def xgboost(replica: Replica) -> Variables:
    """Addresses of the tracker and the workers."""
    rank = replica.index + (replica.counts.get("Master", 0) if replica.type == "Worker" else 0)
    found = {
        "MASTER_PORT": str(replica.ports["Master"]),
        "MASTER_ADDR": replica.host("Master"),
        "WORLD_SIZE": str(replica.total),
        "RANK": str(rank),
        **_UNBUFFERED,
    }
    if replica.total > 1:
        workers = (replica.host("Worker", index) for index in range(replica.total - 1))
        found |= {"WORKER_PORT": str(replica.ports["Worker"]), "WORKER_ADDRS": ",".join(workers)}
    return found


def jax(replica: Replica) -> Variables:
    """The coordinator, and the number of the process."""
    return {
        **_UNBUFFERED,
        "COORDINATOR_PORT": str(replica.ports["Worker"]),
        "COORDINATOR_ADDRESS": replica.host("Worker"),
        "NUM_PROCESSES": str(replica.total),
        "PROCESS_ID": str(replica.index),
    }


def paddle(replica: Replica) -> Variables:
    """The master endpoint, and the role in a parameter-server job."""
    leader = "Master" if "Master" in replica.counts else "Worker"
    found: dict[str, str | JsonObject] = {
        **_UNBUFFERED,
        "PADDLE_JOB_ID": replica.job["metadata"]["name"],
        "PADDLE_NNODES": str(replica.total),
    }
    host = replica.host(leader)
    if replica.index == 0 and replica.type == leader:
        found["POD_IP_DUMMY"] = {"fieldRef": {"fieldPath": "status.podIP"}}
        host = "$(POD_IP_DUMMY)"
    found["PADDLE_MASTER"] = f"{host}:{replica.ports[leader]}"
    if "Master" in replica.counts:
        found["PADDLE_SERVER_NUM" if replica.type == "Master" else "PADDLE_TRAINER_NUM"] = "1"
    return found


Generator = Callable[[Replica], Variables]
