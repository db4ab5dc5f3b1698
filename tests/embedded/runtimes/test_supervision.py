"""Containers of a pod: the order of starts, restarts and stops."""

from datetime import timedelta

import pytest

from embedded.runtimes.supervision_harness import (
    START,
    Kill,
    PreStop,
    Start,
    SupervisionHarness,
    TerminateContainer,
    init,
    main,
    pod_containers,
    sidecar,
)
from kohort.embedded.nodes.runtime import ContainerWaiting, PodFailure, Running, Terminated
from kohort.embedded.runtimes.container_messages import Checked, ContainerNotCreated, PreStopped, StartedUp, Unhealthy
from kohort.embedded.runtimes.pod_containers import ContainerRestartPolicy, PreviousContainerState
from kohort.embedded.runtimes.probes.spec import Probe, Probes
from kohort.embedded.runtimes.supervision import Supervision


def test_main_containers_start_side_by_side() -> None:
    harness = SupervisionHarness.create(main("a"), main("b"))
    assert harness.take_commands() == [Start("a", 0), Start("b", 0)]
    assert harness.status("a").state == ContainerWaiting("ContainerCreating")


def test_init_containers_run_one_after_the_other_before_all_others() -> None:
    harness = SupervisionHarness.create(init("one"), init("two"), main())
    assert harness.take_commands() == [Start("one", 0)]
    assert harness.status("main").state == ContainerWaiting("PodInitializing")
    harness.run_once("one")
    assert harness.take_commands() == [Start("two", 0)]
    harness.run_once("two")
    assert harness.take_commands() == [Start("main", 0)]


def test_the_container_after_a_sidecar_waits_only_until_it_runs() -> None:
    harness = SupervisionHarness.create(sidecar("proxy"), init("setup"), main())
    assert harness.take_commands() == [Start("proxy", 0)]
    harness.started("proxy")
    assert harness.take_commands() == [Start("setup", 0)]


def test_a_sidecar_that_could_not_start_holds_up_the_rest() -> None:
    harness = SupervisionHarness.create(sidecar("proxy"), main())
    harness.take_commands()
    harness.ended("proxy", 128)
    assert harness.take_commands() == [Start("proxy", 1)]


def test_a_sidecar_comes_back_while_an_init_container_runs() -> None:
    harness = SupervisionHarness.create(sidecar("proxy"), init("setup"), main())
    harness.started("proxy", "setup")
    harness.take_commands()
    harness.ended("proxy")
    assert harness.take_commands() == [Start("proxy", 1)]


def test_a_failed_init_container_ends_a_pod_that_never_restarts() -> None:
    harness = SupervisionHarness.create(sidecar("proxy"), init("setup"), main(), policy=ContainerRestartPolicy.NEVER)
    harness.started("proxy")
    harness.run_once("setup", 3)
    assert harness.take_commands() == [Start("proxy", 0), Start("setup", 0), TerminateContainer("proxy")]
    harness.ended("proxy", 143)
    assert harness.supervision.settled
    assert harness.status("main").state == ContainerWaiting("PodInitializing")


def test_a_failed_init_container_is_tried_again_otherwise() -> None:
    harness = SupervisionHarness.create(init("setup"), main(), policy=ContainerRestartPolicy.ON_FAILURE)
    harness.run_once("setup", 1)
    assert harness.take_commands() == [Start("setup", 0), Start("setup", 1)]


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [
        (ContainerRestartPolicy.ALWAYS, 0, True),
        (ContainerRestartPolicy.ALWAYS, 1, True),
        (ContainerRestartPolicy.ON_FAILURE, 0, False),
        (ContainerRestartPolicy.ON_FAILURE, 1, True),
        (ContainerRestartPolicy.NEVER, 0, False),
        (ContainerRestartPolicy.NEVER, 1, False),
    ],
)
def test_the_restart_policy_decides_about_another_start(policy: ContainerRestartPolicy, code: int, again: bool) -> None:
    harness = SupervisionHarness.create(main(), policy=policy)
    harness.take_commands()
    harness.run_once("main", code)
    assert harness.take_commands() == ([Start("main", 1)] if again else [])
    assert harness.supervision.settled is not again


def test_waits_between_restarts_double_from_ten_seconds_to_five_minutes() -> None:
    harness = SupervisionHarness.create(main())
    waits = []
    for _ in range(9):
        harness.run_once("main", 1)
        before = harness.now
        if (wake := harness.supervision.wake) is not None and wake > before:
            harness.advance(wake - before)
        waits.append(harness.now - before)
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300, 300]


def test_ten_minutes_of_running_are_a_new_beginning() -> None:
    harness = SupervisionHarness.create(main())
    for _ in range(4):
        harness.run_once("main", 1)
        harness.advance(300)
    harness.started("main")
    harness.advance(601)
    harness.take_commands()
    harness.ended("main", 1)
    assert harness.take_commands() == [Start("main", 5)]


def test_a_waiting_container_has_the_reasons_of_the_kubelet() -> None:
    harness = SupervisionHarness.create(main())
    harness.run_once("main", 1)
    harness.run_once("main", 1)
    status = harness.status("main")
    assert status.state == ContainerWaiting(
        "CrashLoopBackOff", "back-off 10s restarting failed container=main pod=web_default(u1)"
    )
    assert status.last is not None
    assert status.last.exit_code == 1
    assert status.restarts == 1
    [note] = harness.supervision.take_notes()
    assert note.message == "Back-off restarting failed container main in pod web_default(u1)"


def test_sidecars_end_after_the_main_containers_the_last_one_first() -> None:
    harness = SupervisionHarness.create(sidecar("one"), sidecar("two"), main(), policy=ContainerRestartPolicy.NEVER)
    harness.started("one", "two", "main")
    harness.take_commands()
    harness.ended("main")
    assert harness.take_commands() == [TerminateContainer("two")]
    harness.ended("two", 143)
    assert harness.take_commands() == [TerminateContainer("one")]
    harness.advance(30)
    assert harness.take_commands() == [Kill("one")]


def test_stop_sends_sigterm_first_and_kills_after_the_grace_period() -> None:
    harness = SupervisionHarness.create(main())
    harness.started("main")
    harness.take_commands()
    harness.stop(30)
    assert harness.take_commands() == [TerminateContainer("main")]
    harness.advance(29.9)
    assert harness.take_commands() == []
    harness.advance(0.1)
    assert harness.take_commands() == [Kill("main")]
    harness.ended("main", 137)
    assert harness.supervision.settled


def test_a_second_stop_can_only_hurry() -> None:
    harness = SupervisionHarness.create(main())
    harness.started("main")
    harness.stop(30)
    harness.stop(60)
    harness.stop(5)
    harness.take_commands()
    harness.advance(5)
    assert harness.take_commands() == [Kill("main")]


def test_stop_without_grace_kills_at_once() -> None:
    harness = SupervisionHarness.create(sidecar("proxy"), main())
    harness.started("proxy", "main")
    harness.take_commands()
    harness.stop(0)
    assert harness.take_commands() == [Kill("main"), Kill("proxy")]


def test_the_pre_stop_hook_runs_before_the_request_to_end() -> None:
    harness = SupervisionHarness.create(main(pre_stop=True))
    harness.started("main")
    harness.take_commands()
    harness.stop(10)
    assert harness.take_commands() == [PreStop("main", 10)]
    harness.advance(4)
    harness.commands += harness.supervision.apply(PreStopped("main"), harness.now)
    assert harness.take_commands() == [TerminateContainer("main")]
    harness.advance(6)
    assert harness.take_commands() == [Kill("main")]


def test_a_pre_stop_hook_that_takes_all_the_grace_leaves_two_seconds() -> None:
    harness = SupervisionHarness.create(main(pre_stop=True))
    harness.started("main")
    harness.stop(10)
    harness.advance(9.5)
    harness.commands += harness.supervision.apply(PreStopped("main"), harness.now)
    harness.take_commands()
    harness.advance(1.9)
    assert harness.take_commands() == []
    harness.advance(0.1)
    assert harness.take_commands() == [Kill("main")]


def test_a_container_that_waits_for_its_restart_is_over_when_the_pod_stops() -> None:
    harness = SupervisionHarness.create(main())
    harness.run_once("main", 1)
    harness.run_once("main", 1)
    harness.take_commands()
    harness.stop(30)
    assert harness.take_commands() == []
    assert harness.supervision.settled
    assert isinstance(harness.status("main").state, Terminated)


def test_a_container_that_is_just_starting_ends_as_soon_as_it_runs() -> None:
    harness = SupervisionHarness.create(main())
    harness.take_commands()
    harness.stop(30)
    assert not harness.supervision.settled
    harness.started("main")
    assert harness.take_commands() == [TerminateContainer("main")]


def test_what_is_not_there_yet_is_tried_again_under_the_same_number() -> None:
    harness = SupervisionHarness.create(main())
    harness.take_commands()
    missing = ContainerWaiting("CreateContainerConfigError", 'configmap "settings" not found')
    harness.commands += harness.supervision.apply(ContainerNotCreated("main", missing, 5.0), harness.now)
    assert harness.status("main").state == missing
    assert harness.status("main").restarts == 0
    harness.advance(5)
    assert harness.take_commands() == [Start("main", 0)]


def test_a_failed_pod_reports_why_and_starts_nothing() -> None:
    machine = Supervision(pod_containers(main()))
    assert machine.fail(PodFailure("UnexpectedAdmissionError", "no device"), 0.0) == []
    assert machine.settled
    assert machine.state.failed == PodFailure("UnexpectedAdmissionError", "no device")


def test_a_container_found_running_is_not_started_again() -> None:
    machine = Supervision(pod_containers(main()), {"main": PreviousContainerState(3, Running(START))})
    assert machine.begin(0.0) == []
    [status] = machine.state.containers
    assert (status.state, status.restarts) == (Running(START), 3)


def test_a_container_found_ended_follows_the_restart_policy() -> None:
    ended = Terminated(137, "ContainerStatusUnknown", START, START + timedelta(seconds=1))
    assert Supervision(pod_containers(main()), {"main": PreviousContainerState(0, ended)}).begin(0.0) == [
        Start("main", 1)
    ]
    once = Supervision(
        pod_containers(main(), policy=ContainerRestartPolicy.NEVER), {"main": PreviousContainerState(0, ended)}
    )
    assert once.begin(0.0) == []
    assert once.settled


STARTUP, READINESS = Probes(startup=Probe()), Probes(readiness=Probe())
LIVENESS = Probes(liveness=Probe())


def test_a_container_without_probes_is_ready_when_it_runs() -> None:
    harness = SupervisionHarness.create(main())
    assert not harness.status("main").ready
    harness.started("main")
    assert harness.status("main").ready


def test_a_container_is_ready_as_its_probe_specifies() -> None:
    harness = SupervisionHarness.create(main(probes=READINESS))
    harness.started("main")
    assert not harness.status("main").ready
    for ready in (True, False, True):
        harness.probed(Checked("main", 0, ready))
        assert harness.status("main").ready is ready
    harness.ended("main", 1)
    harness.started("main")
    assert not harness.status("main").ready


def test_a_container_that_starts_up_is_neither_started_nor_ready() -> None:
    harness = SupervisionHarness.create(main(probes=STARTUP))
    harness.started("main")
    assert (harness.status("main").starting, harness.status("main").ready) == (True, False)
    harness.probed(StartedUp("main", 0))
    assert (harness.status("main").starting, harness.status("main").ready) == (False, True)


def test_the_container_after_a_sidecar_waits_until_it_has_started_up() -> None:
    harness = SupervisionHarness.create(sidecar("proxy", probes=STARTUP), main())
    harness.started("proxy")
    assert harness.take_commands() == [Start("proxy", 0)]
    harness.probed(StartedUp("proxy", 0))
    assert harness.take_commands() == [Start("main", 0)]


@pytest.mark.parametrize("code", [0, 143])
def test_an_unhealthy_container_ends_and_starts_again_however_it_ended(code: int) -> None:
    harness = SupervisionHarness.create(main(probes=LIVENESS), policy=ContainerRestartPolicy.ON_FAILURE, grace=20)
    harness.started("main")
    harness.take_commands()
    harness.probed(Unhealthy("main", 0, "liveness"))
    assert harness.take_commands() == [TerminateContainer("main")]
    assert [note.message for note in harness.supervision.take_notes()] == [
        "Container main failed liveness probe, will be restarted"
    ]
    harness.advance(19)
    assert harness.take_commands() == []
    harness.ended("main", code)
    assert harness.take_commands() == [Start("main", 1)]


def test_an_unhealthy_container_is_killed_after_the_grace_of_its_probe() -> None:
    harness = SupervisionHarness.create(main(probes=LIVENESS))
    harness.started("main")
    harness.probed(Unhealthy("main", 0, "liveness", 3))
    harness.take_commands()
    harness.advance(3)
    assert harness.take_commands() == [Kill("main")]


def test_an_unhealthy_container_that_never_restarts_is_over() -> None:
    harness = SupervisionHarness.create(main(probes=LIVENESS), policy=ContainerRestartPolicy.NEVER)
    harness.started("main")
    harness.probed(Unhealthy("main", 0, "liveness"))
    harness.ended("main", 0)
    assert harness.supervision.settled
    assert [note.message for note in harness.supervision.take_notes()] == ["Container main failed liveness probe"]


def test_a_pod_that_stops_does_not_start_its_unhealthy_container_again() -> None:
    harness = SupervisionHarness.create(main(probes=LIVENESS))
    harness.started("main")
    harness.probed(Unhealthy("main", 0, "liveness"))
    harness.stop(5)
    harness.ended("main", 143)
    assert harness.supervision.settled


def test_what_a_probe_found_of_an_earlier_start_is_no_news() -> None:
    harness = SupervisionHarness.create(main(probes=READINESS))
    harness.run_once("main", 1)
    harness.started("main")
    harness.take_commands()
    harness.probed(Checked("main", 0, ready=True))
    harness.probed(Unhealthy("main", 0, "liveness"))
    assert not harness.status("main").ready
    assert harness.take_commands() == []
