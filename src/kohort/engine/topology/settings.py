"""Feature gates that change placements (docs/spec/topology.md section 3)."""

from dataclasses import dataclass

from kohort.api.gates import FeatureGates, Gate


@dataclass(frozen=True, slots=True)
class PlacementSettings:
    """What placements depend on besides the request, the nodes and their usage."""

    mixes_profiles: bool = True
    """LeastFreeCapacity for unconstrained requests (TAS-44)."""
    balances: bool = False
    """Balanced placement of preferred requests (TAS-60)."""
    prefers_affinity: bool = False
    """Preferred node affinity as the first criterion of order (TAS-65)."""
    shares_hosts: bool = True
    """Usage of a host counts in all flavors that have it (TAS-31)."""

    @staticmethod
    def of(gates: FeatureGates) -> "PlacementSettings":
        """Read the feature gates."""
        return PlacementSettings(
            mixes_profiles=gates.enabled(Gate.TASProfileMixed),
            balances=gates.enabled(Gate.TASBalancedPlacement),
            prefers_affinity=gates.enabled(Gate.TASRespectNodeAffinityPreferred),
            shares_hosts=gates.enabled(Gate.TASHandleOverlappingFlavors),
        )
