"""`kohort crds` prints definitions that kubectl can apply, the same on every run."""

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from kohort.api.crds import WebhookService, definitions
from kohort.cli.main import cli

Json = Any

ALL = definitions(WebhookService())


def kohort(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["crds", *map(str, arguments)], prog_name="kohort")


def printed(*arguments: str | Path) -> list[Json]:
    result = kohort(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return list(yaml.safe_load_all(result.stdout))


def kinds_in(documents: list[Json]) -> list[str]:
    return [document["spec"]["names"]["kind"] for document in documents]


def test_all_definitions_come_as_one_yaml_stream() -> None:
    assert printed() == ALL


def test_the_yaml_is_in_block_style_without_anchors_or_wrapped_lines() -> None:
    lines = kohort().stdout.splitlines()
    assert lines[:4] == ["---", "apiVersion: apiextensions.k8s.io/v1", "kind: CustomResourceDefinition", "metadata:"]
    assert [line for line in lines if line.lstrip(" -").startswith(("&", "*"))] == []
    assert len(lines) == sum(1 for line in lines if ":" in line or line.lstrip().startswith("-"))


def test_a_real_process_prints_the_same_again() -> None:
    command = [sys.executable, "-c", "from kohort.cli.main import main; main()", "crds"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")
    assert (done.stdout, done.stderr) == (kohort().stdout, "")


@pytest.mark.parametrize("name", ["LocalQueue", "localqueue", "localqueues", "LQ", "localqueues.kueue.x-k8s.io"])
def test_a_kind_can_be_chosen_by_any_of_its_names(name: str) -> None:
    assert kinds_in(printed("--kind", name)) == ["LocalQueue"]


def test_several_kinds_can_be_chosen() -> None:
    assert kinds_in(printed("--kind", "Topology", "--kind", "Cohort")) == ["Cohort", "Topology"]


def test_an_unknown_kind_is_reported_with_the_known_ones() -> None:
    result = kohort("--kind", "Queue", "--kind", "Clusterqueu")
    assert result.exit_code == 2
    assert "unknown kind clusterqueu" in result.stderr
    assert "AdmissionCheck, ClusterQueue, Cohort" in result.stderr


def test_json_is_one_list_that_kubectl_takes() -> None:
    manifest_list = json.loads(kohort("-o", "json").stdout)
    assert (manifest_list["apiVersion"], manifest_list["kind"], manifest_list["items"]) == ("v1", "List", ALL)


def test_namespace_and_certificate_authority_reach_the_webhook(tmp_path: Path) -> None:
    """API-72"""
    authority = tmp_path / "ca.pem"
    authority.write_bytes(b"-----BEGIN CERTIFICATE-----")
    (crd,) = printed("--kind", "Workload", "--namespace", "queues", "--ca-bundle", authority)
    client = crd["spec"]["conversion"]["webhook"]["clientConfig"]
    assert client["service"]["namespace"] == "queues"
    assert base64.b64decode(client["caBundle"]) == authority.read_bytes()


def test_a_directory_gets_one_file_per_kind(tmp_path: Path) -> None:
    target = tmp_path / "new" / "crds"
    result = kohort("--output-dir", target)
    files = sorted(target.iterdir())
    assert result.stdout.split() == [str(file) for file in files]
    assert [yaml.safe_load(file.read_text("utf-8")) for file in files] == ALL


def test_files_are_named_after_their_format(tmp_path: Path) -> None:
    kohort("--output-dir", tmp_path, "--kind", "Topology", "-o", "json")
    assert [file.name for file in tmp_path.iterdir()] == ["topologies.kueue.x-k8s.io.json"]


def test_help_shows_examples() -> None:
    assert "kohort crds | kubectl apply --server-side -f -" in kohort("--help").stdout
