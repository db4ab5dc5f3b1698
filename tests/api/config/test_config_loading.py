from pathlib import Path as FilePath

import pytest

from kohort.api.config.loading import ConfigurationError, Loaded, default_configuration, load_configuration
from kohort.api.config.parsing import ParsingContext
from kohort.api.gates import DEFAULT_GATES, Gate

HEAD = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"


@pytest.fixture
def file(tmp_path: FilePath) -> FilePath:
    return tmp_path / "config.yaml"


USUAL = ParsingContext()


def load(file: FilePath, text: str, surroundings: ParsingContext = USUAL) -> Loaded:
    file.write_text(text, encoding="utf-8")
    return load_configuration(file, surroundings)


def problems(file: FilePath, text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        load(file, text)
    assert str(caught.value).splitlines() == caught.value.problems
    return [problem.removeprefix(f"{file}:") for problem in caught.value.problems]


def test_without_a_file_the_defaults_are_loaded() -> None:
    """API-137"""
    assert load_configuration(None, USUAL) == Loaded(default_configuration(), DEFAULT_GATES, [])


def test_a_bad_flag_stops_the_start_without_a_file() -> None:
    """API-138"""
    with pytest.raises(ConfigurationError, match="--feature-gates: Invalid value"):
        load_configuration(None, ParsingContext(gate_flag="Teleportation=true"))


def test_a_file_is_loaded_with_its_gates_and_warnings(file: FilePath) -> None:
    """API-137"""
    loaded = load(file, HEAD + "namespace: queues\nfeatureGates: {PriorityBoost: true, TASCacheTopologyTree: true}\n")

    assert loaded.config.namespace == "queues"
    assert loaded.gates.enabled(Gate.PriorityBoost)
    assert loaded.warnings == ["feature gate TASCacheTopologyTree has no effect here"]


def test_json_is_a_file_too(file: FilePath) -> None:
    text = '{"apiVersion": "config.kueue.x-k8s.io/v1beta1", "kind": "Configuration", "namespace": "queues"}'

    assert load(file, text).config.namespace == "queues"


def test_the_environment_provides_the_namespace(file: FilePath) -> None:
    assert load(file, HEAD, ParsingContext(namespace="queues")).config.namespace == "queues"


def test_each_problem_has_its_line(file: FilePath) -> None:
    """API-137"""
    text = HEAD + "webhook:\n  port: 9443\n  prot: 1\nmultiKueue:\n  origin: a b\nwaitForPodsReady:\n  timeout: -5s\n"

    places = [problem.split(": ")[:2] for problem in problems(file, text)]
    assert sorted(places) == [
        ["5", "webhook.prot"],
        ["7", "multiKueue.origin"],
        ["8", "waitForPodsReady.recoveryTimeout"],
        ["9", "waitForPodsReady.timeout"],
    ]


def test_a_problem_stays_on_one_line_for_any_keys(file: FilePath) -> None:
    (problem,) = problems(file, HEAD + '"a\\nb": 1\n')

    assert problem.startswith("3: a\\nb: Forbidden")


def test_a_problem_of_the_flag_has_no_line(file: FilePath) -> None:
    """API-138"""
    with pytest.raises(ConfigurationError, match=r"\A--feature-gates: "):
        load(file, HEAD, ParsingContext(gate_flag="Teleportation=true"))


def test_a_member_given_twice_is_an_error_with_its_line(file: FilePath) -> None:
    """API-137"""
    (problem,) = problems(file, HEAD + "namespace: a\nnamespace: b\n")

    assert problem.startswith("4:")
    assert "namespace" in problem


def test_a_file_that_is_no_yaml_is_an_error_with_its_line(file: FilePath) -> None:
    (problem,) = problems(file, HEAD + "webhook: {port: 1\n")

    assert problem[0].isdigit()


@pytest.mark.parametrize("text", ["", "---\n", f"{HEAD}---\n{HEAD}"])
def test_a_file_holds_exactly_one_configuration(file: FilePath, text: str) -> None:
    (problem,) = problems(file, text)

    assert "expected one Configuration" in problem


def test_a_file_that_is_not_there_is_an_error_that_names_it(tmp_path: FilePath) -> None:
    with pytest.raises(ConfigurationError, match=r"missing\.yaml: No such file"):
        load_configuration(tmp_path / "missing.yaml", USUAL)
