"""How good a node is for a pod that fits: as empty as possible, evenly used, as wished.

Weights are Kubernetes'. A score depends on its own node alone, where Kubernetes scales some by the best node of the
moment: so a score can be kept until its node changes.
"""

from typing import Final

from kohort.api.taints import untolerated
from kohort.embedded.scheduler.cache import NodeInfo
from kohort.embedded.scheduler.requirements import CPU, MEMORY, PodRequirements

MOST: Final = 100.0
WISHED_NODES: Final = 2.0
FEW_TAINTS: Final = 3.0
_DISLIKED: Final = ("PreferNoSchedule",)


def load_score(demand: PodRequirements, node: NodeInfo) -> float:
    """Better the emptier the node would be, and the more alike the used parts of CPU and memory."""
    cpu, memory = node.allocatable.get(CPU, 0), node.allocatable.get(MEMORY, 0)
    if not cpu or not memory:
        return 0.0
    busy = min(1.0, (node.cpu + demand.cpu) / cpu)
    full = min(1.0, (node.memory + demand.memory) / memory)
    return MOST * (1 - (busy + full) / 2) + MOST * (1 - abs(busy - full) / 2)


def kind_score(demand: PodRequirements, node: NodeInfo) -> float:
    """Better the more wishes for nodes it meets, and the fewer taints it has that only discourage."""
    score = FEW_TAINTS * MOST
    if node.taints:
        score /= 1 + len(untolerated(node.taints, demand.tolerations, _DISLIKED))
    total = sum(weight for weight, _ in demand.wishes)
    if total:
        met = sum(weight for weight, term in demand.wishes if term.matches(node.name, node.labels))
        score += WISHED_NODES * MOST * met / total
    return score
