"""Scores of feasible nodes: least allocated, balanced allocation, preferred node affinity, few soft taints.

Weights are kube-scheduler's. A score depends on its own node alone, whereas kube-scheduler normalizes some scores by
the best node: this way a score can be cached until its node changes.
"""

from typing import Final

from kohort.api.taints import untolerated
from kohort.embedded.scheduler.cache import NodeInfo
from kohort.embedded.scheduler.requirements import CPU, MEMORY, PodRequirements

MAX_SCORE: Final = 100.0
NODE_AFFINITY_WEIGHT: Final = 2.0
TAINT_WEIGHT: Final = 3.0
_SOFT_EFFECTS: Final = ("PreferNoSchedule",)


def usage_score(requirements: PodRequirements, node: NodeInfo) -> float:
    """Higher for lower utilization and for balanced CPU and memory utilization."""
    cpu, memory = node.allocatable.get(CPU, 0), node.allocatable.get(MEMORY, 0)
    if not cpu or not memory:
        return 0.0
    cpu_share = min(1.0, (node.cpu + requirements.cpu) / cpu)
    memory_share = min(1.0, (node.memory + requirements.memory) / memory)
    return MAX_SCORE * (1 - (cpu_share + memory_share) / 2) + MAX_SCORE * (1 - abs(cpu_share - memory_share) / 2)


def spec_score(requirements: PodRequirements, node: NodeInfo) -> float:
    """Higher for satisfied node preferences and for fewer untolerated PreferNoSchedule taints."""
    score = TAINT_WEIGHT * MAX_SCORE
    if node.taints:
        score /= 1 + len(untolerated(node.taints, requirements.tolerations, _SOFT_EFFECTS))
    total = sum(weight for weight, _ in requirements.preferred_nodes)
    if total:
        met = sum(weight for weight, term in requirements.preferred_nodes if term.matches(node.name, node.labels))
        score += NODE_AFFINITY_WEIGHT * MAX_SCORE * met / total
    return score
