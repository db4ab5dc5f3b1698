"""Settings of what is not supported, given on a command line or in a file: a warning on standard error."""

from pathlib import Path

from click.testing import CliRunner

from kohort.cli.install import install
from kohort.cli.validate import validate

NO_EFFECT = "the gate has no effect: MultiKueue is not supported by this version of Kohort yet"


def test_install_warns_of_what_its_configuration_requests(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "{apiVersion: config.kueue.x-k8s.io/v1beta2, kind: Configuration, multiKueue: {dispatcherName: a.example/b},"
        " integrations: {frameworks: [batch/job, workload.codeflare.dev/appwrapper]}}"
    )
    result = CliRunner().invoke(install, ["--config", str(file), "--feature-gates", "MultiKueue=true"])
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "warning: multiKueue.dispatcherName: the setting has no effect: "
        "MultiKueue is not supported by this version of Kohort yet",
        f"warning: featureGates[MultiKueue]: {NO_EFFECT}",
    ]
    assert "warning" not in result.stdout.partition("\n")[0]


def test_validate_warns_of_gates_without_effect(tmp_path: Path) -> None:
    file = tmp_path / "namespace.yaml"
    file.write_text("{apiVersion: v1, kind: Namespace, metadata: {name: a}}")
    result = CliRunner().invoke(validate, ["-q", "--feature-gates", "MultiKueue=true", "-f", str(file)])
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"warning: --feature-gates[MultiKueue]: {NO_EFFECT}\n"
