"""What commands that need a cluster have in common: finding it, one-line errors, output formats, grouped help."""

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kit.apiserver import running_apiserver
from kit.builders.batch import make_job
from kit.commands import CommandRunner, running_command_runner, write_kubeconfig
from kit.ports import free_port
from kohort.api.errors import ApiError
from kohort.cli.main import COMMANDS, SECTIONS, cli
from kohort.cli.options import (
    ClusterOptions,
    OutputFormat,
    all_namespaces_option,
    cluster_options,
    data_text,
    environment,
    output_option,
    running_client,
    watch_option,
)
from kohort.local.directories import cluster_directory
from kohort.local.runs import CleanShutdown, ClusterLock, ClusterRun, now


@click.command()
@click.argument("name")
@all_namespaces_option
@output_option(OutputFormat.WIDE, OutputFormat.JSON)
@watch_option
@cluster_options
def shown(*, where: ClusterOptions, name: str, all_namespaces: bool, output: OutputFormat | None, watch: bool) -> None:
    """Print what a command gets."""
    given = [where.namespace, where.context, str(where.kubeconfig), name, all_namespaces, output, watch]
    click.echo(json.dumps([*given, environment().get("NO_COLOR", "")]))


def given(*arguments: str) -> list[object]:
    result = CliRunner().invoke(shown, arguments, env={"NO_COLOR": None})
    assert result.exit_code == 0, result.output
    found: list[object] = json.loads(result.output)
    return found


def test_a_command_gets_one_value_per_family_of_options() -> None:
    assert given("x") == ["", "", "None", "x", False, None, False, ""]
    assert given("-n", "ml", "--context", "lab", "--kubeconfig", "/k", "-A", "-o", "wide", "-w", "--no-color", "x") == [
        *("ml", "lab", "/k", "x", True, "wide", True, "1"),
    ]


def test_only_the_forms_that_apply_are_taken() -> None:
    assert CliRunner().invoke(shown, ["x", "-o", "name"]).exit_code == 2


def test_data_keeps_the_order_of_its_keys() -> None:
    value = {"b": [1, {"z": None}], "a": "ü"}
    assert json.loads(data_text(value, OutputFormat.JSON)) == value
    assert data_text(value, OutputFormat.YAML) == "b:\n- 1\n- z: null\na: ü"


# Finding the cluster


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with nothing in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KOHORT_DATA", str(tmp_path / "data"))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_the_namespace_is_the_contexts_unless_one_is_given(harness: Path) -> None:
    file = write_kubeconfig(harness / "config", "https://192.0.2.1", "ml")
    assert ClusterOptions(file).access().namespace == "ml"
    assert ClusterOptions(file, namespace="other").access().namespace == "other"


def test_without_any_kubeconfig_the_error_names_the_ways_to_a_cluster(harness: Path) -> None:
    with pytest.raises(ApiError, match=r"no kubeconfig found at .* or start a local cluster with `kohort up`"):
        ClusterOptions().access()


def test_a_user_without_a_home_directory_gets_the_same_error(harness: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.delenv("KOHORT_DATA")
    with pytest.raises(ApiError, match=r"no kubeconfig found at /\.kube/config: .* `kohort up`"):
        ClusterOptions().access()


def test_a_local_cluster_is_found_where_nothing_else_is_configured(
    harness: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = write_kubeconfig(harness / "local", "https://192.0.2.7")
    monkeypatch.setattr("kohort.local.directories.kubeconfig_of_running", lambda: local)
    assert ClusterOptions().access().server == "https://192.0.2.7"
    (harness / ".kube").mkdir()
    write_kubeconfig(harness / ".kube" / "config", "https://192.0.2.8")
    assert ClusterOptions().access().server == "https://192.0.2.8"
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(harness / "named", "https://192.0.2.9")))
    assert ClusterOptions().access().server == "https://192.0.2.9"


def test_a_missing_kubeconfig_file_is_reported_with_the_local_cluster_that_runs(
    harness: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kohort.local.directories.kubeconfig_of_running", lambda: harness / "my data" / "kubeconfig")
    monkeypatch.setenv("KUBECONFIG", str(harness / "missing"))
    with pytest.raises(
        ApiError,
        match=r"no kubeconfig found at .*missing: .* to use the running local cluster: export KUBECONFIG='.*/my data/",
    ):
        ClusterOptions().access()


@pytest.mark.parametrize(
    ("ended", "how"),
    [(None, "ended unexpectedly"), (CleanShutdown(now()), "is stopped")],
    ids=["killed", "stopped"],
)
async def test_a_local_cluster_that_does_not_run_is_reported_as_such(
    harness: Path, ended: CleanShutdown | None, how: str
) -> None:
    server = f"https://127.0.0.1:{free_port()}"
    claim = ClusterLock.take(cluster_directory("lab"))
    claim.release()
    claim.write(ClusterRun(pid=1, since=now(), url=server, ended=ended))
    with pytest.raises(ApiError, match=f"cluster lab at {server} {how}: start it with `kohort up -d --name lab`"):
        async with running_client(ClusterOptions(write_kubeconfig(harness / "config", server)).access()) as client:
            await client.get_json("/version")


def test_an_unknown_context_is_reported_with_the_existing_ones(harness: Path) -> None:
    file = write_kubeconfig(harness / "config", "https://192.0.2.1")
    with pytest.raises(ApiError, match="context 'their' not found, available: here"):
        ClusterOptions(file, "their").access()


# Errors


@pytest.mark.parametrize("command", ["queue", "top", "explain", "fits"])
async def test_an_unreachable_server_is_reported_in_one_line_by_every_command(command: str, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(json.dumps(make_job()))
    async with running_apiserver() as cluster, running_command_runner(cluster, tmp_path) as user:
        pass
    rest = {"explain": ["x"], "fits": ["-f", str(tmp_path / "job.yaml")]}.get(command, [])
    ended = await user.run(command, *rest)
    assert (ended.code, ended.err.count("\n"), ended.out) == (2, 1, "")
    assert "cannot connect" in ended.err


@pytest.mark.parametrize("command", ["queue", "top"])
async def test_a_cluster_without_kueues_kinds_is_one_line(command: str, tmp_path: Path) -> None:
    async with running_apiserver() as cluster, running_command_runner(cluster, tmp_path) as user:
        ended = await user.run(command)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "Kohort is not installed on" in ended.err


async def test_a_kubeconfig_that_is_none_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text("clusters: [")
    ended = await CommandRunner(tmp_path / "kubeconfig").run("queue")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "invalid YAML in kubeconfig" in ended.err


# Help


def test_every_command_is_listed_under_a_heading() -> None:
    assert {command.section for command in COMMANDS.values()} <= {*SECTIONS}
    help_text = CliRunner().invoke(cli, ["--help"]).output
    places = [help_text.index(f"\n{section}:\n") for section in SECTIONS]
    assert places == sorted(places)


@pytest.mark.parametrize("command", ["queue", "top", "explain", "fits"])
def test_help_has_examples(command: str) -> None:
    help_text = CliRunner().invoke(cli, [command, "--help"]).output
    assert f"kohort {command}" in help_text
    assert "Examples:" in help_text


def test_a_mistyped_command_leads_to_the_one_meant() -> None:
    assert "No such command 'quue'. Did you mean 'queue'?" in CliRunner().invoke(cli, ["quue"]).output
