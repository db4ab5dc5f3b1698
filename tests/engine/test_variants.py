"""Variants of one workload compete for different flavors (SCH-330, SCH-1110 to SCH-1113)."""

from typing import Any

from engine.play import CPU, Play, configured, group, quota
from kohort.engine.decisions import Migrate, Requeue
from kohort.engine.records import Key

Json = Any


def play(last_acceptable: str = "") -> Play:
    play = Play(configured(ConcurrentAdmission=True))
    constraints = {"constraints": {"lastAcceptableFlavorName": last_acceptable}} if last_acceptable else {}
    play.queue(
        "q",
        groups=[group({"best": [quota(CPU, 4)], "good": [quota(CPU, 4)], "poor": [quota(CPU, 4)]})],
        concurrentAdmissionPolicy={"migration": {"mode": "TryPreferredFlavors", **constraints}},
    )
    return play


def variant(play: Play, flavor: str, size: int = 4) -> None:
    manifest = play.workload(f"w-{flavor}", size, "q")
    manifest["metadata"] |= {
        "annotations": {"kueue.x-k8s.io/workload-allowed-resource-flavors": flavor},
        "ownerReferences": [{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "name": "w", "uid": "parent"}],
    }
    play.put(manifest)


def test_a_variant_uses_only_its_flavor() -> None:
    """SCH-1111."""
    stage = play()
    variant(stage, "good")
    assert stage.turn().admitted["w-good"] == {CPU: "good"}


def test_a_parent_is_neither_queued_nor_counted() -> None:
    """SCH-204, SCH-1110."""
    stage = play()
    manifest = stage.workload("w", 4, "q")
    manifest["metadata"]["labels"] = {"kueue.x-k8s.io/concurrent-admission-parent": "true"}
    stage.put(manifest)
    assert stage.turn().decisions == []


def test_a_worse_variant_does_not_start_beside_a_better_one() -> None:
    """SCH-330."""
    stage = play()
    variant(stage, "best")
    variant(stage, "poor")
    stage.turn()
    assert set(stage.admitted) == {"w-best"}
    assert stage.pending_reason("w-poor") == ("PendingEvaluation", "A more favorable variant is already admitted")


def test_a_better_variant_takes_over_from_a_worse_one() -> None:
    """SCH-1113."""
    stage = play()
    variant(stage, "poor")
    stage.turn()
    variant(stage, "best")
    stage.turn()
    assert [each for each in stage.decisions if isinstance(each, Migrate)] == [
        Migrate(Key("ns", "w-poor"), Key("ns", "w-best"))
    ]
    assert stage.waiting["w-best"].requeue is Requeue.PENDING_MIGRATION
    assert not any(isinstance(each, Migrate) for each in stage.turn().decisions), "one eviction is enough"
    stage.settle()
    stage.turn()
    assert set(stage.admitted) == {"w-best"}


def test_it_does_not_for_a_flavor_below_the_last_acceptable_one() -> None:
    """SCH-1113."""
    stage = play(last_acceptable="best")
    variant(stage, "poor")
    stage.turn()
    variant(stage, "good")
    stage.turn()
    assert set(stage.admitted) == {"w-poor"}
    assert stage.pending_reason("w-good")[1] == "Target flavor is below LastAcceptableFlavorName"
