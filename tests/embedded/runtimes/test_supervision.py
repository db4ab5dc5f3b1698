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
    play = SupervisionHarness.create(main("a"), main("b"))
    assert play.take_commands() == [Start("a", 0), Start("b", 0)]
    assert play.status("a").state == ContainerWaiting("ContainerCreating")


def test_init_containers_run_one_after_the_other_before_all_others() -> None:
    play = SupervisionHarness.create(init("one"), init("two"), main())
    assert play.take_commands() == [Start("one", 0)]
    assert play.status("main").state == ContainerWaiting("PodInitializing")
    play.run_once("one")
    assert play.take_commands() == [Start("two", 0)]
    play.run_once("two")
    assert play.take_commands() == [Start("main", 0)]


def test_the_container_after_a_sidecar_waits_only_until_it_runs() -> None:
    play = SupervisionHarness.create(sidecar("proxy"), init("setup"), main())
    assert play.take_commands() == [Start("proxy", 0)]
    play.started("proxy")
    assert play.take_commands() == [Start("setup", 0)]


def test_a_sidecar_that_could_not_start_holds_up_the_rest() -> None:
    play = SupervisionHarness.create(sidecar("proxy"), main())
    play.take_commands()
    play.ended("proxy", 128)
    assert play.take_commands() == [Start("proxy", 1)]


def test_a_sidecar_comes_back_while_an_init_container_runs() -> None:
    play = SupervisionHarness.create(sidecar("proxy"), init("setup"), main())
    play.started("proxy", "setup")
    play.take_commands()
    play.ended("proxy")
    assert play.take_commands() == [Start("proxy", 1)]


def test_a_failed_init_container_ends_a_pod_that_never_restarts() -> None:
    play = SupervisionHarness.create(sidecar("proxy"), init("setup"), main(), policy=ContainerRestartPolicy.NEVER)
    play.started("proxy")
    play.run_once("setup", 3)
    assert play.take_commands() == [Start("proxy", 0), Start("setup", 0), TerminateContainer("proxy")]
    play.ended("proxy", 143)
    assert play.supervision.settled
    assert play.status("main").state == ContainerWaiting("PodInitializing")


def test_a_failed_init_container_is_tried_again_otherwise() -> None:
    play = SupervisionHarness.create(init("setup"), main(), policy=ContainerRestartPolicy.ON_FAILURE)
    play.run_once("setup", 1)
    assert play.take_commands() == [Start("setup", 0), Start("setup", 1)]


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
    play = SupervisionHarness.create(main(), policy=policy)
    play.take_commands()
    play.run_once("main", code)
    assert play.take_commands() == ([Start("main", 1)] if again else [])
    assert play.supervision.settled is not again


def test_waits_between_restarts_double_from_ten_seconds_to_five_minutes() -> None:
    play = SupervisionHarness.create(main())
    waits = []
    for _ in range(9):
        play.run_once("main", 1)
        before = play.now
        if (wake := play.supervision.wake) is not None and wake > before:
            play.advance(wake - before)
        waits.append(play.now - before)
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300, 300]


def test_ten_minutes_of_running_are_a_new_beginning() -> None:
    play = SupervisionHarness.create(main())
    for _ in range(4):
        play.run_once("main", 1)
        play.advance(300)
    play.started("main")
    play.advance(601)
    play.take_commands()
    play.ended("main", 1)
    assert play.take_commands() == [Start("main", 5)]


def test_a_waiting_container_has_the_reasons_of_the_kubelet() -> None:
    play = SupervisionHarness.create(main())
    play.run_once("main", 1)
    play.run_once("main", 1)
    status = play.status("main")
    assert status.state == ContainerWaiting(
        "CrashLoopBackOff", "back-off 10s restarting failed container=main pod=web_default(u1)"
    )
    assert status.last is not None
    assert status.last.exit_code == 1
    assert status.restarts == 1
    [note] = play.supervision.take_notes()
    assert note.message == "Back-off restarting failed container main in pod web_default(u1)"


def test_sidecars_end_after_the_main_containers_the_last_one_first() -> None:
    play = SupervisionHarness.create(sidecar("one"), sidecar("two"), main(), policy=ContainerRestartPolicy.NEVER)
    play.started("one", "two", "main")
    play.take_commands()
    play.ended("main")
    assert play.take_commands() == [TerminateContainer("two")]
    play.ended("two", 143)
    assert play.take_commands() == [TerminateContainer("one")]
    play.advance(30)
    assert play.take_commands() == [Kill("one")]


def test_stop_sends_sigterm_first_and_kills_after_the_grace_period() -> None:
    play = SupervisionHarness.create(main())
    play.started("main")
    play.take_commands()
    play.stop(30)
    assert play.take_commands() == [TerminateContainer("main")]
    play.advance(29.9)
    assert play.take_commands() == []
    play.advance(0.1)
    assert play.take_commands() == [Kill("main")]
    play.ended("main", 137)
    assert play.supervision.settled


def test_a_second_stop_can_only_hurry() -> None:
    play = SupervisionHarness.create(main())
    play.started("main")
    play.stop(30)
    play.stop(60)
    play.stop(5)
    play.take_commands()
    play.advance(5)
    assert play.take_commands() == [Kill("main")]


def test_stop_without_grace_kills_at_once() -> None:
    play = SupervisionHarness.create(sidecar("proxy"), main())
    play.started("proxy", "main")
    play.take_commands()
    play.stop(0)
    assert play.take_commands() == [Kill("main"), Kill("proxy")]


def test_the_pre_stop_hook_runs_before_the_request_to_end() -> None:
    play = SupervisionHarness.create(main(pre_stop=True))
    play.started("main")
    play.take_commands()
    play.stop(10)
    assert play.take_commands() == [PreStop("main", 10)]
    play.advance(4)
    play.commands += play.supervision.apply(PreStopped("main"), play.now)
    assert play.take_commands() == [TerminateContainer("main")]
    play.advance(6)
    assert play.take_commands() == [Kill("main")]


def test_a_pre_stop_hook_that_takes_all_the_grace_leaves_two_seconds() -> None:
    play = SupervisionHarness.create(main(pre_stop=True))
    play.started("main")
    play.stop(10)
    play.advance(9.5)
    play.commands += play.supervision.apply(PreStopped("main"), play.now)
    play.take_commands()
    play.advance(1.9)
    assert play.take_commands() == []
    play.advance(0.1)
    assert play.take_commands() == [Kill("main")]


def test_a_container_that_waits_for_its_restart_is_over_when_the_pod_stops() -> None:
    play = SupervisionHarness.create(main())
    play.run_once("main", 1)
    play.run_once("main", 1)
    play.take_commands()
    play.stop(30)
    assert play.take_commands() == []
    assert play.supervision.settled
    assert isinstance(play.status("main").state, Terminated)


def test_a_container_that_is_just_starting_ends_as_soon_as_it_runs() -> None:
    play = SupervisionHarness.create(main())
    play.take_commands()
    play.stop(30)
    assert not play.supervision.settled
    play.started("main")
    assert play.take_commands() == [TerminateContainer("main")]


def test_what_is_not_there_yet_is_tried_again_under_the_same_number() -> None:
    play = SupervisionHarness.create(main())
    play.take_commands()
    missing = ContainerWaiting("CreateContainerConfigError", 'configmap "settings" not found')
    play.commands += play.supervision.apply(ContainerNotCreated("main", missing, 5.0), play.now)
    assert play.status("main").state == missing
    assert play.status("main").restarts == 0
    play.advance(5)
    assert play.take_commands() == [Start("main", 0)]


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
    play = SupervisionHarness.create(main())
    assert not play.status("main").ready
    play.started("main")
    assert play.status("main").ready


def test_a_container_is_ready_as_its_probe_specifies() -> None:
    play = SupervisionHarness.create(main(probes=READINESS))
    play.started("main")
    assert not play.status("main").ready
    for ready in (True, False, True):
        play.probed(Checked("main", 0, ready))
        assert play.status("main").ready is ready
    play.ended("main", 1)
    play.started("main")
    assert not play.status("main").ready


def test_a_container_that_starts_up_is_neither_started_nor_ready() -> None:
    play = SupervisionHarness.create(main(probes=STARTUP))
    play.started("main")
    assert (play.status("main").starting, play.status("main").ready) == (True, False)
    play.probed(StartedUp("main", 0))
    assert (play.status("main").starting, play.status("main").ready) == (False, True)


def test_the_container_after_a_sidecar_waits_until_it_has_started_up() -> None:
    play = SupervisionHarness.create(sidecar("proxy", probes=STARTUP), main())
    play.started("proxy")
    assert play.take_commands() == [Start("proxy", 0)]
    play.probed(StartedUp("proxy", 0))
    assert play.take_commands() == [Start("main", 0)]


@pytest.mark.parametrize("code", [0, 143])
def test_an_unhealthy_container_ends_and_starts_again_however_it_ended(code: int) -> None:
    play = SupervisionHarness.create(main(probes=LIVENESS), policy=ContainerRestartPolicy.ON_FAILURE, grace=20)
    play.started("main")
    play.take_commands()
    play.probed(Unhealthy("main", 0, "liveness"))
    assert play.take_commands() == [TerminateContainer("main")]
    assert [note.message for note in play.supervision.take_notes()] == [
        "Container main failed liveness probe, will be restarted"
    ]
    play.advance(19)
    assert play.take_commands() == []
    play.ended("main", code)
    assert play.take_commands() == [Start("main", 1)]


def test_an_unhealthy_container_is_killed_after_the_grace_of_its_probe() -> None:
    play = SupervisionHarness.create(main(probes=LIVENESS))
    play.started("main")
    play.probed(Unhealthy("main", 0, "liveness", 3))
    play.take_commands()
    play.advance(3)
    assert play.take_commands() == [Kill("main")]


def test_an_unhealthy_container_that_never_restarts_is_over() -> None:
    play = SupervisionHarness.create(main(probes=LIVENESS), policy=ContainerRestartPolicy.NEVER)
    play.started("main")
    play.probed(Unhealthy("main", 0, "liveness"))
    play.ended("main", 0)
    assert play.supervision.settled
    assert [note.message for note in play.supervision.take_notes()] == ["Container main failed liveness probe"]


def test_a_pod_that_stops_does_not_start_its_unhealthy_container_again() -> None:
    play = SupervisionHarness.create(main(probes=LIVENESS))
    play.started("main")
    play.probed(Unhealthy("main", 0, "liveness"))
    play.stop(5)
    play.ended("main", 143)
    assert play.supervision.settled


def test_what_a_probe_found_of_an_earlier_start_is_no_news() -> None:
    play = SupervisionHarness.create(main(probes=READINESS))
    play.run_once("main", 1)
    play.started("main")
    play.take_commands()
    play.probed(Checked("main", 0, ready=True))
    play.probed(Unhealthy("main", 0, "liveness"))
    assert not play.status("main").ready
    assert play.take_commands() == []
