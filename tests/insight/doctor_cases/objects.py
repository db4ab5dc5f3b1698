"""What the doctor finds, and does not: objects that can't be read."""

from insight.doctor_cases.case import ill, well
from insight.doctor_snapshots import (
    cluster_queue,
)

OBJECTS = (
    ill(
        "unreadable-object",
        "a text where a list should be",
        {**cluster_queue(), "spec": {"resourceGroups": "all"}},
        about="ClusterQueue cq",
        problem="cannot be decoded: Expected `array`, got `str` - at `$.spec.resourceGroups`",
        fix="kubectl edit clusterqueue cq",
    ),
    well("unreadable-object", "all have their shape", cluster_queue()),
)
