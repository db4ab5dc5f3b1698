"""The steps of a turn are timed by a clock that the caller lends."""

from itertools import count

from engine.play import Play
from kohort.engine.engine import Engine
from kohort.engine.phase_timing import PhaseTimes


def test_every_step_of_a_cycle_is_timed_in_order() -> None:
    play = Play()
    ticks = count()
    play.engine.laps = PhaseTimes(lambda: float(next(ticks)))
    play.queue("q", 4)
    play.submit("w", 1)
    play.turn()
    steps = ["1 heads", "2 nominate", "3 order and process", "4 give back", "5 requeue"]
    assert list(play.engine.laps.seconds) == steps
    assert all(play.engine.laps.seconds[step] == play.engine.laps.times[step] for step in steps)


def test_without_a_clock_time_stands_still() -> None:
    engine = Engine()
    with engine.laps.lap("step"):
        pass
    assert engine.laps.seconds == {"step": 0.0}
