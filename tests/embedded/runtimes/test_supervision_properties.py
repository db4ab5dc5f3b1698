"""Laws of supervision, for any behavior of containers and any time of a stop."""

from hypothesis import given
from hypothesis import strategies as st

from embedded.runtimes.supervision_harness import Kill, Start, SupervisionHarness, init, main, sidecar
from kohort.embedded.nodes.runtime import ContainerWaiting, Running, Terminated
from kohort.embedded.runtimes.container_messages import ContainerNotCreated, PreStop, PreStopped, Unhealthy
from kohort.embedded.runtimes.pod_containers import ContainerRestartPolicy, ContainerRole, SupervisedContainer

crews = st.builds(
    lambda first, last: [*first, *last],
    st.lists(st.sampled_from([init, sidecar]), max_size=3).map(
        lambda made: [make(f"i{number}") for number, make in enumerate(made)]
    ),
    st.integers(1, 3).map(lambda count: [main(f"m{number}", pre_stop=number == 1) for number in range(count)]),
)
steps = st.lists(
    st.tuples(
        st.sampled_from(["answer", "refuse", "end", "wait", "sicken", "stop"]), st.integers(0, 9), st.integers(0, 2)
    ),
    max_size=40,
)


class CheckedSupervisionHarness(SupervisionHarness):
    """A play that checks every order as it comes."""

    members: dict[str, SupervisedContainer]
    alive: set[str]
    pending: list[str]
    has_run: set[str]
    stopped: bool = False

    def watch(self, members: list[SupervisedContainer]) -> None:
        self.members = {member.name: member for member in members}
        self.alive, self.pending, self.has_run = set(), [], set()
        self.check()

    def check(self) -> None:
        for order in self.take_commands():
            assert order.name in self.members
            if isinstance(order, Start):
                self._check_start(order)
            else:
                assert order.name in self.alive, f"{order} for a container that does not run"
                if isinstance(order, PreStop):
                    self.commands += self.supervision.apply(PreStopped(order.name), self.now)
                    self.check()
        wake = self.supervision.wake
        assert wake is None or wake >= self.now, "a wake-up in the past would never end"

    def _check_start(self, order: Start) -> None:
        assert not self.stopped
        assert order.name not in self.alive
        assert order.name not in self.pending
        self.pending.append(order.name)
        if self.members[order.name].role is ContainerRole.SIDECAR:
            return
        for name in list(self.members)[: list(self.members).index(order.name)]:
            before = self.members[name]
            state = self.status(name).state
            if before.role is ContainerRole.INIT:
                assert isinstance(state, Terminated)
                assert state.exit_code == 0
            elif before.role is ContainerRole.SIDECAR:
                assert name in self.has_run, "a restart of it may fail meanwhile"


@given(crews, st.sampled_from(ContainerRestartPolicy), steps)
def test_orders_make_sense_and_every_pod_can_be_ended(
    members: list[SupervisedContainer], policy: ContainerRestartPolicy, script: list[tuple[str, int, int]]
) -> None:
    harness = CheckedSupervisionHarness.create(*members, policy=policy)
    harness.watch(members)
    for kind, number, code in script:
        act(harness, kind, number, code)
        harness.check()
    harness.stop(10)
    harness.stopped = True
    harness.check()
    for _ in range(4 * len(members)):
        while harness.pending:
            act(harness, "answer", 0, 0)
            harness.check()
        harness.advance(10)
        harness.check()
        for name in sorted(harness.alive):
            harness.alive.discard(name)
            harness.ended(name, 137)
            harness.check()
    assert harness.supervision.settled
    assert harness.supervision.wake is None
    assert not any(isinstance(each.state, Running) for each in harness.supervision.state.containers)


def act(harness: CheckedSupervisionHarness, kind: str, number: int, code: int) -> None:
    """One thing that may happen to a pod."""
    if kind == "answer" and harness.pending:
        name = harness.pending.pop(number % len(harness.pending))
        harness.alive.add(name)
        harness.has_run.add(name)
        harness.started(name)
    elif kind == "refuse" and harness.pending:
        name = harness.pending.pop(number % len(harness.pending))
        harness.commands += harness.supervision.apply(
            ContainerNotCreated(name, ContainerWaiting("CreateContainerConfigError"), 3.0), harness.now
        )
    elif kind == "end" and harness.alive:
        name = sorted(harness.alive)[number % len(harness.alive)]
        harness.alive.discard(name)
        harness.ended(name, code)
    elif kind == "sicken" and harness.alive:
        name = sorted(harness.alive)[number % len(harness.alive)]
        attempt = harness.status(name).restarts
        if harness.members[name].role is not ContainerRole.INIT:
            harness.probed(Unhealthy(name, attempt, "liveness", float(code)))
    elif kind == "wait":
        harness.advance(number * 10)
    elif kind == "stop":
        harness.stopped = True
        harness.stop(number)


@given(crews, st.lists(st.integers(0, 1), min_size=1, max_size=12))
def test_a_pod_that_never_restarts_starts_no_container_twice(
    members: list[SupervisedContainer], codes: list[int]
) -> None:
    mains = [member for member in members if member.role is not ContainerRole.SIDECAR]
    harness = SupervisionHarness.create(*mains, policy=ContainerRestartPolicy.NEVER)
    started: list[str] = []
    for code in codes:
        for order in harness.take_commands():
            assert isinstance(order, Start)
            started.append(order.name)
            harness.run_once(order.name, code)
    assert len(started) == len(set(started))


@given(crews)
def test_nothing_is_killed_before_its_grace_is_over(members: list[SupervisedContainer]) -> None:
    harness = SupervisionHarness.create(*members)
    for _ in members:
        for order in harness.take_commands():
            if isinstance(order, Start):
                harness.started(order.name)
                if (
                    order.name.startswith("i")
                    and next(m for m in members if m.name == order.name).role is ContainerRole.INIT
                ):
                    harness.ended(order.name)
    harness.take_commands()
    harness.stop(30)
    harness.advance(29)
    orders = harness.take_commands()
    assert orders
    assert not any(isinstance(order, Kill) for order in orders)
