"""Containers of a pod: who starts when, who starts again, who ends first."""

from datetime import timedelta

import pytest

from embedded.runtimes.crews import START, Kill, Play, PreStop, Start, TerminateContainer, crew, init, main, sidecar
from kohort.embedded.nodes.runtime import ContainerWaiting, PodFailure, Running, Terminated
from kohort.embedded.runtimes.container_messages import Checked, ContainerNotCreated, PreStopped, StartedUp, Unhealthy
from kohort.embedded.runtimes.pod_containers import ContainerRestartPolicy, PreviousContainerState
from kohort.embedded.runtimes.probes.spec import Probe, Probes
from kohort.embedded.runtimes.supervision import Supervision


def test_main_containers_start_side_by_side() -> None:
    play = Play.of(main("a"), main("b"))
    assert play.taken() == [Start("a", 0), Start("b", 0)]
    assert play.status("a").state == ContainerWaiting("ContainerCreating")


def test_init_containers_run_one_after_the_other_before_all_others() -> None:
    play = Play.of(init("one"), init("two"), main())
    assert play.taken() == [Start("one", 0)]
    assert play.status("main").state == ContainerWaiting("PodInitializing")
    play.ran("one")
    assert play.taken() == [Start("two", 0)]
    play.ran("two")
    assert play.taken() == [Start("main", 0)]


def test_the_container_after_a_sidecar_waits_only_until_it_runs() -> None:
    play = Play.of(sidecar("proxy"), init("setup"), main())
    assert play.taken() == [Start("proxy", 0)]
    play.started("proxy")
    assert play.taken() == [Start("setup", 0)]


def test_a_sidecar_that_could_not_start_holds_up_the_rest() -> None:
    play = Play.of(sidecar("proxy"), main())
    play.taken()
    play.ended("proxy", 128)
    assert play.taken() == [Start("proxy", 1)]


def test_a_sidecar_comes_back_while_an_init_container_runs() -> None:
    play = Play.of(sidecar("proxy"), init("setup"), main())
    play.started("proxy", "setup")
    play.taken()
    play.ended("proxy")
    assert play.taken() == [Start("proxy", 1)]


def test_a_failed_init_container_ends_a_pod_that_never_restarts() -> None:
    play = Play.of(sidecar("proxy"), init("setup"), main(), policy=ContainerRestartPolicy.NEVER)
    play.started("proxy")
    play.ran("setup", 3)
    assert play.taken() == [Start("proxy", 0), Start("setup", 0), TerminateContainer("proxy")]
    play.ended("proxy", 143)
    assert play.machine.settled
    assert play.status("main").state == ContainerWaiting("PodInitializing")


def test_a_failed_init_container_is_tried_again_otherwise() -> None:
    play = Play.of(init("setup"), main(), policy=ContainerRestartPolicy.ON_FAILURE)
    play.ran("setup", 1)
    assert play.taken() == [Start("setup", 0), Start("setup", 1)]


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
    play = Play.of(main(), policy=policy)
    play.taken()
    play.ran("main", code)
    assert play.taken() == ([Start("main", 1)] if again else [])
    assert play.machine.settled is not again


def test_waits_between_restarts_double_from_ten_seconds_to_five_minutes() -> None:
    play = Play.of(main())
    waits = []
    for _ in range(9):
        play.ran("main", 1)
        before = play.now
        if (wake := play.machine.wake) is not None and wake > before:
            play.later(wake - before)
        waits.append(play.now - before)
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300, 300]


def test_ten_minutes_of_running_are_a_new_beginning() -> None:
    play = Play.of(main())
    for _ in range(4):
        play.ran("main", 1)
        play.later(300)
    play.started("main")
    play.later(601)
    play.taken()
    play.ended("main", 1)
    assert play.taken() == [Start("main", 5)]


def test_a_waiting_container_says_so_in_the_words_people_know() -> None:
    play = Play.of(main())
    play.ran("main", 1)
    play.ran("main", 1)
    status = play.status("main")
    assert status.state == ContainerWaiting(
        "CrashLoopBackOff", "back-off 10s restarting failed container=main pod=web_default(u1)"
    )
    assert status.last is not None
    assert status.last.exit_code == 1
    assert status.restarts == 1
    [note] = play.machine.take_notes()
    assert note.message == "Back-off restarting failed container main in pod web_default(u1)"


def test_sidecars_end_after_the_main_containers_the_last_one_first() -> None:
    play = Play.of(sidecar("one"), sidecar("two"), main(), policy=ContainerRestartPolicy.NEVER)
    play.started("one", "two", "main")
    play.taken()
    play.ended("main")
    assert play.taken() == [TerminateContainer("two")]
    play.ended("two", 143)
    assert play.taken() == [TerminateContainer("one")]
    play.later(30)
    assert play.taken() == [Kill("one")]


def test_stop_asks_first_and_kills_when_the_grace_is_over() -> None:
    play = Play.of(main())
    play.started("main")
    play.taken()
    play.stop(30)
    assert play.taken() == [TerminateContainer("main")]
    play.later(29.9)
    assert play.taken() == []
    play.later(0.1)
    assert play.taken() == [Kill("main")]
    play.ended("main", 137)
    assert play.machine.settled


def test_a_second_stop_can_only_hurry() -> None:
    play = Play.of(main())
    play.started("main")
    play.stop(30)
    play.stop(60)
    play.stop(5)
    play.taken()
    play.later(5)
    assert play.taken() == [Kill("main")]


def test_stop_without_grace_kills_at_once() -> None:
    play = Play.of(sidecar("proxy"), main())
    play.started("proxy", "main")
    play.taken()
    play.stop(0)
    assert play.taken() == [Kill("main"), Kill("proxy")]


def test_the_pre_stop_hook_runs_before_the_request_to_end() -> None:
    play = Play.of(main(pre_stop=True))
    play.started("main")
    play.taken()
    play.stop(10)
    assert play.taken() == [PreStop("main", 10)]
    play.later(4)
    play.orders += play.machine.apply(PreStopped("main"), play.now)
    assert play.taken() == [TerminateContainer("main")]
    play.later(6)
    assert play.taken() == [Kill("main")]


def test_a_pre_stop_hook_that_takes_all_the_grace_leaves_two_seconds() -> None:
    play = Play.of(main(pre_stop=True))
    play.started("main")
    play.stop(10)
    play.later(9.5)
    play.orders += play.machine.apply(PreStopped("main"), play.now)
    play.taken()
    play.later(1.9)
    assert play.taken() == []
    play.later(0.1)
    assert play.taken() == [Kill("main")]


def test_a_container_that_waits_for_its_restart_is_over_when_the_pod_stops() -> None:
    play = Play.of(main())
    play.ran("main", 1)
    play.ran("main", 1)
    play.taken()
    play.stop(30)
    assert play.taken() == []
    assert play.machine.settled
    assert isinstance(play.status("main").state, Terminated)


def test_a_container_that_is_just_starting_ends_as_soon_as_it_runs() -> None:
    play = Play.of(main())
    play.taken()
    play.stop(30)
    assert not play.machine.settled
    play.started("main")
    assert play.taken() == [TerminateContainer("main")]


def test_what_is_not_there_yet_is_tried_again_under_the_same_number() -> None:
    play = Play.of(main())
    play.taken()
    missing = ContainerWaiting("CreateContainerConfigError", 'configmap "settings" not found')
    play.orders += play.machine.apply(ContainerNotCreated("main", missing, 5.0), play.now)
    assert play.status("main").state == missing
    assert play.status("main").restarts == 0
    play.later(5)
    assert play.taken() == [Start("main", 0)]


def test_a_failed_pod_says_why_and_starts_nothing() -> None:
    machine = Supervision(crew(main()))
    assert machine.fail(PodFailure("UnexpectedAdmissionError", "no device"), 0.0) == []
    assert machine.settled
    assert machine.state.failed == PodFailure("UnexpectedAdmissionError", "no device")


def test_a_container_found_running_is_not_started_again() -> None:
    machine = Supervision(crew(main()), {"main": PreviousContainerState(3, Running(START))})
    assert machine.begin(0.0) == []
    [status] = machine.state.containers
    assert (status.state, status.restarts) == (Running(START), 3)


def test_a_container_found_ended_follows_the_restart_policy() -> None:
    ended = Terminated(137, "ContainerStatusUnknown", START, START + timedelta(seconds=1))
    assert Supervision(crew(main()), {"main": PreviousContainerState(0, ended)}).begin(0.0) == [Start("main", 1)]
    once = Supervision(crew(main(), policy=ContainerRestartPolicy.NEVER), {"main": PreviousContainerState(0, ended)})
    assert once.begin(0.0) == []
    assert once.settled


STARTUP, READINESS = Probes(startup=Probe()), Probes(readiness=Probe())
LIVENESS = Probes(liveness=Probe())


def test_a_container_without_probes_is_ready_when_it_runs() -> None:
    play = Play.of(main())
    assert not play.status("main").ready
    play.started("main")
    assert play.status("main").ready


def test_a_container_is_ready_as_its_probe_says() -> None:
    play = Play.of(main(probes=READINESS))
    play.started("main")
    assert not play.status("main").ready
    for ready in (True, False, True):
        play.found(Checked("main", 0, ready))
        assert play.status("main").ready is ready
    play.ended("main", 1)
    play.started("main")
    assert not play.status("main").ready


def test_a_container_that_starts_up_is_neither_started_nor_ready() -> None:
    play = Play.of(main(probes=STARTUP))
    play.started("main")
    assert (play.status("main").starting, play.status("main").ready) == (True, False)
    play.found(StartedUp("main", 0))
    assert (play.status("main").starting, play.status("main").ready) == (False, True)


def test_the_container_after_a_sidecar_waits_until_it_has_started_up() -> None:
    play = Play.of(sidecar("proxy", probes=STARTUP), main())
    play.started("proxy")
    assert play.taken() == [Start("proxy", 0)]
    play.found(StartedUp("proxy", 0))
    assert play.taken() == [Start("main", 0)]


@pytest.mark.parametrize("code", [0, 143])
def test_an_unhealthy_container_ends_and_starts_again_however_it_ended(code: int) -> None:
    play = Play.of(main(probes=LIVENESS), policy=ContainerRestartPolicy.ON_FAILURE, grace=20)
    play.started("main")
    play.taken()
    play.found(Unhealthy("main", 0, "liveness"))
    assert play.taken() == [TerminateContainer("main")]
    assert [note.message for note in play.machine.take_notes()] == [
        "Container main failed liveness probe, will be restarted"
    ]
    play.later(19)
    assert play.taken() == []
    play.ended("main", code)
    assert play.taken() == [Start("main", 1)]


def test_an_unhealthy_container_is_killed_after_the_grace_of_its_probe() -> None:
    play = Play.of(main(probes=LIVENESS))
    play.started("main")
    play.found(Unhealthy("main", 0, "liveness", 3))
    play.taken()
    play.later(3)
    assert play.taken() == [Kill("main")]


def test_an_unhealthy_container_that_never_restarts_is_over() -> None:
    play = Play.of(main(probes=LIVENESS), policy=ContainerRestartPolicy.NEVER)
    play.started("main")
    play.found(Unhealthy("main", 0, "liveness"))
    play.ended("main", 0)
    assert play.machine.settled
    assert [note.message for note in play.machine.take_notes()] == ["Container main failed liveness probe"]


def test_a_pod_that_stops_does_not_start_its_unhealthy_container_again() -> None:
    play = Play.of(main(probes=LIVENESS))
    play.started("main")
    play.found(Unhealthy("main", 0, "liveness"))
    play.stop(5)
    play.ended("main", 143)
    assert play.machine.settled


def test_what_a_probe_found_of_an_earlier_start_is_no_news() -> None:
    play = Play.of(main(probes=READINESS))
    play.ran("main", 1)
    play.started("main")
    play.taken()
    play.found(Checked("main", 0, ready=True))
    play.found(Unhealthy("main", 0, "liveness"))
    assert not play.status("main").ready
    assert play.taken() == []
