"""The examples as a reader applies them: `kohort up`, stock kubectl, nothing changed; `make test-peers` runs it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.page_runner import PageRunner, find_kubectl
from examples.example_environment import example_folders

LAST_WORDS = "Training completed successfully!"
NODES = "--nodes 8 --node-capacity cpu=32,memory=256Gi,ephemeral-storage=500Gi,nvidia.com/gpu=8"


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[PageRunner]:
    found = PageRunner(tmp_path, find_kubectl())
    yield found
    found.close()


def test_the_mock_training_runs_unmodified(reader: PageRunner) -> None:
    reader.run("kohort up -d --merge-kubeconfig --end-pods")
    output = reader.run("kubectl apply -f examples/mock-training/")
    assert "job.batch/mock-training created" in output
    assert "Warning: " in output, "the annotation is no label"
    reader.run("kubectl wait -n training --for=condition=complete job/mock-training --timeout=180s")
    assert LAST_WORDS in reader.run("kubectl logs -n training job/mock-training")


def test_kubectl_takes_every_example_twice(reader: PageRunner) -> None:
    """The second time nothing is in the way: neither what the server adds nor what the queue has done since."""
    reader.run(f"kohort up -d --merge-kubeconfig {NODES} --run-seconds 3600")
    for folder in example_folders():
        created = reader.run(f"kubectl apply -f examples/{folder.name}/")
        assert created.count(" created") >= 4, created
        assert " created" not in reader.run(f"kubectl apply -f examples/{folder.name}/")
