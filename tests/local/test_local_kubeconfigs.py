"""Kubeconfigs: one of the cluster's own, and a context in a file of many, whose other contents stay as they are."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kohort.api.errors import ApiError
from kohort.kube.config import Choice, find_access
from kohort.local.kubeconfigs import Published, merge_into, usual_kubeconfig

DATE = "2024-01-02T03:04:05Z"
THEIRS = """\
# mine
apiVersion: v1
kind: Config
current-context: prod
preferences: {colors: true}
clusters:
- name: prod
  cluster: {server: https://prod.example, extensions: [{name: x, extension: {when: 2024-01-02T03:04:05Z}}]}
contexts:
- name: prod
  context: {cluster: prod, user: me, namespace: team}
users:
- name: me
  user: {token: "0123"}
"""


def as_served(server: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "kohort", "cluster": {"server": server}}],
        "users": [{"name": "kohort", "user": {"token": "t"}}],
        "contexts": [{"name": "kohort", "context": {"cluster": "kohort", "user": "kohort"}}],
        "current-context": "kohort",
    }


def published(folder: Path, context: str, shared: Path | None = None, server: str = "https://here:1") -> Published:
    source = folder / "source"
    source.write_text(yaml.safe_dump(as_served(server)))
    return Published(source, context, folder / "kubeconfig", shared)


def test_a_cluster_has_a_context_of_its_own_name(tmp_path: Path) -> None:
    published(tmp_path, "kohort-lab").write()
    access = find_access(Choice(tmp_path / "kubeconfig", "kohort-lab"))
    assert access.server == "https://here:1"
    assert (tmp_path / "kubeconfig").stat().st_mode & 0o777 == 0o600


def test_other_contexts_stay_untouched_and_current(tmp_path: Path) -> None:
    shared = tmp_path / "config"
    shared.write_text(THEIRS)
    published(tmp_path, "kohort", shared).write()
    found, before = yaml.safe_load(shared.read_text()), yaml.safe_load(THEIRS.replace(DATE, f"'{DATE}'"))
    assert found["current-context"] == "prod"
    assert found["preferences"] == {"colors": True}
    for part in ("clusters", "contexts", "users"):
        assert found[part][:-1] == before[part]
        assert found[part][-1]["name"] == "kohort"
    assert find_access(Choice(shared, "kohort")).server == "https://here:1"


def test_the_file_is_kept_once_as_it_was(tmp_path: Path) -> None:
    shared = tmp_path / "config"
    shared.write_text(THEIRS)
    published(tmp_path, "kohort", shared).write()
    published(tmp_path, "kohort", shared, "https://here:2").write()
    assert (tmp_path / "config.before-kohort").read_text() == THEIRS
    assert find_access(Choice(shared, "kohort")).server == "https://here:2"


def test_a_first_kubeconfig_has_the_cluster_as_its_current_context(tmp_path: Path) -> None:
    shared = tmp_path / "home" / ".kube" / "config"
    published(tmp_path, "kohort", shared).write()
    assert find_access(Choice(shared)).server == "https://here:1"


def test_two_clusters_stand_side_by_side(tmp_path: Path) -> None:
    shared = tmp_path / "config"
    published(tmp_path, "kohort", shared).write()
    published(tmp_path, "kohort-lab", shared, "https://here:2").write()
    assert find_access(Choice(shared, "kohort")).server == "https://here:1"
    assert find_access(Choice(shared, "kohort-lab")).server == "https://here:2"


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "config"
    real.write_text(THEIRS)
    link.symlink_to(real)
    published(tmp_path, "kohort", link).write()
    assert link.is_symlink()
    assert find_access(Choice(real, "kohort")).server == "https://here:1"


@pytest.mark.parametrize("text", ["just text", "clusters: 3", "{", "contexts: [1]"])
def test_what_is_no_kubeconfig_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    shared = tmp_path / "config"
    shared.write_text(text)
    with pytest.raises(ApiError, match="not a kubeconfig, and left as it is"):
        merge_into(shared, as_served("https://here:1"))
    assert shared.read_text() == text
    assert not (tmp_path / "config.lock").exists()


def test_a_file_that_kubectl_is_writing_is_waited_for_in_vain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kohort.local.kubeconfigs._LOCK_SECONDS", 0.0)
    (tmp_path / "config.lock").touch()
    with pytest.raises(ApiError, match=r"is locked by another program: remove .*config\.lock if there is none"):
        merge_into(tmp_path / "config", as_served("https://here:1"))


def test_a_place_that_can_not_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        ApiError, match=r"config: the context can't be added there \(.*\): leave --merge-kubeconfig out"
    ):
        merge_into(tmp_path / "file" / "config", as_served("https://here:1"))


def test_a_file_that_nobody_asked_for_is_no_reason_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("kohort.local.kubeconfigs._LOCK_SECONDS", 0.0)
    shared = tmp_path / "config"
    published(tmp_path, "kohort", shared).write()
    (tmp_path / "config.lock").touch()
    replace(published(tmp_path, "kohort", server="https://here:2"), perhaps=shared).write()
    assert "could not be kept up to date" in caplog.text


def test_it_is_the_file_that_kubectl_writes_to() -> None:
    assert usual_kubeconfig({"KUBECONFIG": "/a:/b"}) == Path("/a")
    assert usual_kubeconfig({}) == Path.home() / ".kube" / "config"


def test_a_file_that_has_the_cluster_is_kept_up_to_date_and_no_other_is_written(tmp_path: Path) -> None:
    shared = tmp_path / "config"
    shared.write_text(THEIRS)
    own = published(tmp_path, "kohort", server="https://here:2")
    replace(own, perhaps=shared).write()
    assert shared.read_text() == THEIRS
    published(tmp_path, "kohort", shared, "https://here:1").write()
    published(tmp_path, "kohort", server="https://here:2")
    replace(own, perhaps=shared).write()
    assert find_access(Choice(shared, "kohort")).server == "https://here:2"


def test_somebody_elses_cluster_of_the_same_name_is_left_alone(tmp_path: Path) -> None:
    shared = tmp_path / "config"
    other = as_served("https://elsewhere")
    other["clusters"][0]["cluster"]["certificate-authority-data"] = "YW5vdGhlcg=="
    shared.write_text(yaml.safe_dump(other))
    replace(published(tmp_path, "kohort"), perhaps=shared).write()
    assert find_access(Choice(shared, "kohort")).server == "https://elsewhere"
