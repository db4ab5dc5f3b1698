"""`kohort events`: a job, its Workload and its pods in one order; or all events of Kohort."""

import json

import yaml

from cli.clusters import Cluster
from cli.test_hold import waiting
from kit.commands import CommandResult
from kohort.api.core.events import Event, EventSeries, EventSource
from kohort.api.core.objects import ObjectReference
from kohort.cli.event_table import EventFilter, in_order, is_from_manager, last_seen, times


def finished(queues: Cluster, name: str) -> None:
    queues.kohort("submit", "-q", "team-a", "--cpu", "500m", "--name", name, "--wait", "--", "true")


def is_whole(answer: CommandResult) -> bool:
    """Whether all events were recorded: each recorder writes with a delay."""
    lines = [line.split() for line in answer.out.splitlines()[1:]]
    reasons, objects = {line[2] for line in lines}, {line[3].partition("/")[0] for line in lines}
    return {"CreatedWorkload", "Started", "FinishedWorkload"} <= reasons and {"job", "workload", "pod"} <= objects


def test_events_of_a_job_are_listed_in_order(queues: Cluster, fresh: str) -> None:
    finished(queues, fresh)
    answer = queues.until(lambda: queues.kohort("events", fresh), is_whole)
    header, *lines = answer.out.splitlines()
    assert header.split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    reasons = [line.split()[2] for line in lines]
    assert reasons.index("CreatedWorkload") < reasons.index("Started") < reasons.index("FinishedWorkload")


def test_events_of_a_deleted_job_are_listed(queues: Cluster, fresh: str) -> None:
    finished(queues, fresh)
    queues.until(lambda: queues.kohort("events", fresh), is_whole)
    queues.kohort("cancel", fresh)
    answer = queues.kohort("events", fresh)
    assert answer.err == f"{fresh} was deleted; its events expire after one hour\n"
    objects = {line.split()[3].partition("/")[0] for line in answer.out.splitlines()[1:]}
    assert {"job", "workload", "pod"} <= objects


def test_an_unknown_name_is_reported(queues: Cluster) -> None:
    answer = queues.kohort("events", "never-there")
    assert (answer.code, "Job or Workload 'never-there' not found" in answer.err) == (2, True)


def test_without_a_name_what_kohort_did_and_nothing_else(queues: Cluster, fresh: str) -> None:
    finished(queues, fresh)
    look = ("events", "-o", "json")
    listed = queues.until(
        lambda: json.loads(queues.kohort(*look).out),
        lambda found: any(each["reason"] == "FinishedWorkload" and fresh in each["object"]["name"] for each in found),
    )
    assert not {each["reason"] for each in listed} & {"Scheduled", "SuccessfulCreate", "Suspended"}
    assert all(each["count"] >= 1 and "kueue" in each["from"] for each in listed)


def test_wide_output_has_the_source_and_the_count(queues: Cluster, fresh: str) -> None:
    finished(queues, fresh)
    header = queues.kohort("events", fresh, "-o", "wide").out.splitlines()[0]
    assert "COUNT" in header
    assert "FROM" in header
    assert queues.kohort("events", "-A").out.startswith("NAMESPACE")
    assert isinstance(yaml.safe_load(queues.kohort("events", fresh, "-o", "yaml").out), list)


def test_watching_continues(queues: Cluster, fresh: str) -> None:
    waiting(queues, fresh)
    with queues.apart("events", "-w", fresh) as watcher:
        assert watcher.stdout is not None
        assert "LAST SEEN" in watcher.stdout.readline()
        queues.kohort("move", fresh, "--to", "team-a")
        assert any("Started" in line for line in watcher.stdout)


def test_where_nothing_happened(queues: Cluster) -> None:
    answer = queues.kohort("events", "-n", "kube-system")
    assert answer == CommandResult(0, "", "No events found (events expire after one hour)\n")


def test_contradicting_options_are_reported(queues: Cluster) -> None:
    assert "-A cannot be combined with a name" in queues.kohort("events", "x", "-A").err
    assert "-w supports table output only" in queues.kohort("events", "-w", "-o", "json").err


# Pure


def event(kind: str, name: str, **more: object) -> Event:
    return Event(regarding=ObjectReference(kind=kind, name=name), **more)  # type: ignore[arg-type]


def test_pods_that_are_gone_are_known_by_their_names() -> None:
    from kohort.api.core.batch import Job
    from kohort.cli.targets import CommandTarget, TargetObject

    about = EventFilter.target(CommandTarget((TargetObject(Job.resource, {"metadata": {"name": "train"}}),), ()))
    assert about(event("Job", "train"))
    assert about(event("Pod", "train-x7k2p"))
    assert about(event("Pod", "train-12-x7k2p"))
    assert not about(event("Pod", "train-more-x7k2p"))
    assert not about(event("Workload", "train"))


def test_both_forms_of_an_event_are_read() -> None:
    new = event("Job", "a", event_time="2026-01-01T00:00:01.000000Z", series=None)
    again = EventSeries(count=3, last_observed_time="2026-01-01T00:00:09.000000Z")
    series = event("Job", "b", event_time="2026-01-01T00:00:00.000000Z", series=again)
    assert [each.regarding.name for each in in_order([series, new])] == ["a", "b"]
    assert (times(new), times(series), last_seen(series).second) == (1, 3, 9)
    assert is_from_manager(event("Job", "a", deprecated_source=EventSource(component="batch/job-kueue-controller")))
    assert not is_from_manager(event("Job", "a", reporting_controller="job-controller"))
