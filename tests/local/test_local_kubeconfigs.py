"""Kubeconfigs: one of the cluster's own, and a context in a file of many, whose other contents stay as they are."""

import os
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kohort.api.errors import ApiError
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.local.directories import ClusterDirectory
from kohort.local.kubeconfig_files import default_file, kubectl_files
from kohort.local.kubeconfigs import (
    ContextOwner,
    KubeconfigMerge,
    Published,
    add_context,
    current_context,
    release_context,
    release_crashed,
)
from kohort.local.runs import CleanShutdown, ClusterRun, now

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
    files = () if shared is None else (shared,)
    merge = KubeconfigMerge(files) if files else None
    return Published(source, ContextOwner(context, folder / context), folder / "kubeconfig", merge, files)


def ephemeral(folder: Path, shared: Path, server: str = "https://here:1") -> Published:
    """The same of a cluster that keeps nothing."""
    found = published(folder, "kohort", shared, server)
    return replace(found, owner=ContextOwner("kohort", folder / "ephemeral", is_persistent=False))


def keeping_up_to_date(found: Published, shared: Path) -> Published:
    """The same without a merge."""
    return replace(found, merge=None, files=(shared,))


def theirs(folder: Path) -> Path:
    shared = folder / "config"
    shared.write_text(THEIRS)
    return shared


def by_hand(shared: Path, context: str) -> None:
    """A user switches to another context."""
    shared.write_text(yaml.safe_dump({**yaml.safe_load(shared.read_text()), "current-context": context}))


def test_a_cluster_has_a_context_of_its_own_name(tmp_path: Path) -> None:
    published(tmp_path, "kohort-lab").write()
    access = load_client_config(ConfigOverrides(tmp_path / "kubeconfig", "kohort-lab"))
    assert access.server == "https://here:1"
    assert (tmp_path / "kubeconfig").stat().st_mode & 0o777 == 0o600


def test_other_contexts_stay_as_they_are_and_ours_is_current(tmp_path: Path) -> None:
    shared = theirs(tmp_path)
    assert published(tmp_path, "kohort", shared).write() == "prod"
    found, before = yaml.safe_load(shared.read_text()), yaml.safe_load(THEIRS.replace(DATE, f"'{DATE}'"))
    assert found["current-context"] == "kohort"
    assert found["preferences"] == {"colors": True}
    for part in ("clusters", "contexts", "users"):
        assert found[part][:-1] == before[part]
        assert found[part][-1]["name"] == "kohort"
    assert load_client_config(ConfigOverrides(shared)).server == "https://here:1"
    assert shared.stat().st_mode & 0o777 == 0o600


def test_the_current_context_is_kept_on_demand(tmp_path: Path) -> None:
    shared = theirs(tmp_path)
    found = published(tmp_path, "kohort")
    found = replace(found, merge=KubeconfigMerge((shared,), is_current=False), files=(shared,))
    found.write()
    assert current_context((shared,)) == "prod"
    assert load_client_config(ConfigOverrides(shared, "kohort")).server == "https://here:1"
    found.withdraw()
    assert current_context((shared,)) == "prod"


def test_a_stop_restores_the_previous_context_and_keeps_the_one_of_a_cluster_that_is_kept(tmp_path: Path) -> None:
    shared = theirs(tmp_path)
    found = published(tmp_path, "kohort", shared)
    for _ in range(2):
        found.write()
        assert current_context((shared,)) == "kohort"
        found.withdraw()
        assert current_context((shared,)) == "prod"
    assert load_client_config(ConfigOverrides(shared, "kohort")).server == "https://here:1"


def test_a_stop_removes_every_entry_of_a_cluster_that_keeps_nothing(tmp_path: Path) -> None:
    shared = theirs(tmp_path)
    found = ephemeral(tmp_path, shared)
    found.write()
    found.withdraw()
    assert yaml.safe_load(shared.read_text()) == yaml.safe_load(THEIRS.replace(DATE, f"'{DATE}'"))


def test_the_kubeconfig_of_an_ephemeral_cluster_is_deleted_with_it(tmp_path: Path) -> None:
    shared = tmp_path / "home" / ".kube" / "config"
    found = ephemeral(tmp_path, shared)
    found.write()
    assert current_context((shared,)) == "kohort"
    found.withdraw()
    assert list(shared.parent.iterdir()) == []


def test_a_context_that_was_chosen_meanwhile_stays_current(tmp_path: Path) -> None:
    shared = theirs(tmp_path)
    document = yaml.safe_load(THEIRS)
    document["contexts"].append({"name": "test", "context": {"cluster": "prod", "user": "me"}})
    shared.write_text(yaml.safe_dump(document))
    for found in (published(tmp_path, "kohort", shared), ephemeral(tmp_path, shared)):
        found.write()
        by_hand(shared, "test")
        found.withdraw()
        assert current_context((shared,)) == "test"
        shared.write_text(yaml.safe_dump(document))


def test_the_only_context_stays_current_when_its_cluster_stops(tmp_path: Path) -> None:
    shared = tmp_path / "config"
    found = published(tmp_path, "kohort", shared)
    found.write()
    found.withdraw()
    assert current_context((shared,)) == "kohort"


def test_a_file_without_a_current_context_has_none_again(tmp_path: Path) -> None:
    shared = theirs(tmp_path)
    by_hand(shared, "")
    found = published(tmp_path, "kohort", shared)
    found.write()
    found.withdraw()
    assert current_context((shared,)) == ""


@pytest.mark.parametrize("last", ["kohort", "kohort-lab"])
def test_two_clusters_stop_in_any_order_and_the_context_of_before_is_current(tmp_path: Path, last: str) -> None:
    shared = theirs(tmp_path)
    found = {name: published(tmp_path, name, shared) for name in ("kohort", "kohort-lab")}
    for each in found.values():
        each.write()
    found.pop("kohort" if last == "kohort-lab" else "kohort-lab").withdraw()
    found[last].withdraw()
    assert current_context((shared,)) == "prod"


def test_a_renewal_leaves_the_current_context_and_the_namespace_alone(tmp_path: Path) -> None:
    shared = theirs(tmp_path)
    found = published(tmp_path, "kohort", shared)
    found.write()
    document = yaml.safe_load(shared.read_text())
    document["contexts"][-1]["context"]["namespace"] = "team"
    shared.write_text(yaml.safe_dump({**document, "current-context": "prod"}))
    published(tmp_path, "kohort", server="https://here:2")
    found.renew()
    assert current_context((shared,)) == "prod"
    access = load_client_config(ConfigOverrides(shared, "kohort"))
    assert (access.server, access.namespace) == ("https://here:2", "team")


@pytest.mark.parametrize(
    ("what", "entries"),
    [
        ("context", {"contexts": [{"name": "kohort", "context": {"cluster": "prod", "user": "me"}}]}),
        ("cluster", {"clusters": [{"name": "kohort", "cluster": {"server": "https://elsewhere"}}]}),
        ("user", {"users": [{"name": "kohort", "user": {"token": "secret"}}]}),
        ("context", {"contexts": [{"name": "kohort", "context": "nonsense"}]}),
    ],
)
def test_entries_of_another_cluster_are_never_replaced(tmp_path: Path, what: str, entries: dict[str, Any]) -> None:
    shared = tmp_path / "config"
    shared.write_text(yaml.safe_dump(entries))
    before = shared.read_text()
    output = f"config: {what} kohort already exists and belongs to another cluster: choose another --name"
    with pytest.raises(ApiError, match=output):
        published(tmp_path, "kohort", shared).write()
    assert shared.read_text() == before


def test_entries_of_another_file_of_the_list_are_not_hidden_either(tmp_path: Path) -> None:
    first, second = theirs(tmp_path), tmp_path / "second"
    second.write_text(yaml.safe_dump(as_served("https://elsewhere")))
    with pytest.raises(ApiError, match="second: cluster kohort already exists"):
        add_context(KubeconfigMerge((first, second)), as_served("https://here:1"), ContextOwner("kohort", tmp_path))
    assert first.read_text() == THEIRS


def test_a_cluster_of_the_same_name_in_another_folder_is_another_one(tmp_path: Path) -> None:
    shared = tmp_path / "config"
    published(tmp_path, "kohort", shared).write()
    other = replace(published(tmp_path, "kohort", shared), owner=ContextOwner("kohort", tmp_path / "elsewhere"))
    with pytest.raises(ApiError, match="belongs to another cluster"):
        other.write()
    other.withdraw()
    assert current_context((shared,)) == "kohort"


def test_the_first_file_that_exists_gets_the_context_and_the_one_that_has_it_keeps_it(tmp_path: Path) -> None:
    missing, second, third = tmp_path / "missing", tmp_path / "second", tmp_path / "third"
    second.write_text("kind: Config\n")
    third.write_text(THEIRS)
    files = (missing, second, third)
    found = replace(published(tmp_path, "kohort"), merge=KubeconfigMerge(files), files=files)
    assert found.write() == "prod"
    assert (found.shared, missing.exists(), third.read_text()) == (second, False, THEIRS)
    assert current_context(files) == "kohort"
    found = replace(found, merge=KubeconfigMerge((third, second)), files=(third, second))
    assert found.write() == "prod"
    assert (found.shared, current_context((third, second))) == (second, "kohort")
    found.withdraw()
    assert current_context((third, second)) == "prod"


def test_what_a_killed_cluster_that_kept_nothing_left_behind_is_removed(tmp_path: Path) -> None:
    shared, place = theirs(tmp_path), ClusterDirectory("kohort", tmp_path)
    run = ClusterRun(pid=1, since=now(), context="kohort", keeps=False, kubectl_files=(str(shared),))
    ephemeral(tmp_path, shared).write()
    release_crashed(place, ClusterRun(pid=1, since=now(), context="kohort", keeps=False, ended=CleanShutdown(now())))
    assert current_context((shared,)) == "kohort"
    release_crashed(place, run)
    assert yaml.safe_load(shared.read_text()) == yaml.safe_load(THEIRS.replace(DATE, f"'{DATE}'"))


def test_a_stop_after_a_crash_restores_the_previous_context(tmp_path: Path) -> None:
    shared, owner = theirs(tmp_path), ContextOwner("kohort", tmp_path)
    add_context(KubeconfigMerge((shared,)), as_served("https://here:1"), owner)
    # Started again, with and without a merge: the previous context is kept.
    add_context(KubeconfigMerge((shared,)), as_served("https://here:2"), owner)
    add_context(KubeconfigMerge((shared,), is_current=False), as_served("https://here:3"), owner)
    release_context((shared,), owner)
    assert current_context((shared,)) == "prod"


def test_a_cluster_that_keeps_nothing_and_runs_is_another_one_until_it_is_gone(tmp_path: Path) -> None:
    shared = tmp_path / "config"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = f"https://127.0.0.1:{listening.getsockname()[1]}"
        ephemeral(tmp_path, shared, server).write()
        with pytest.raises(ApiError, match="belongs to another cluster"):
            published(tmp_path, "kohort", shared).write()
    published(tmp_path, "kohort", shared).write()
    assert load_client_config(ConfigOverrides(shared)).server == "https://here:1"


def test_many_concurrent_writers_lose_nothing(tmp_path: Path) -> None:
    shared = theirs(tmp_path)
    names = [f"kohort-{number}" for number in range(8)]
    owners = [ContextOwner(name, tmp_path / name) for name in names]
    configs = [yaml.safe_load(yaml.safe_dump(as_served("https://here:1")).replace("kohort", name)) for name in names]
    threads = [
        threading.Thread(target=add_context, args=(KubeconfigMerge((shared,)), config, owner))
        for config, owner in zip(configs, owners, strict=True)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    found = yaml.safe_load(shared.read_text())
    assert {each["name"] for each in found["contexts"]} == {"prod", *names}
    assert not (tmp_path / "config.lock").exists()


def test_a_read_only_file_is_left_as_it_is(tmp_path: Path) -> None:
    shared = theirs(tmp_path)
    shared.chmod(0o400)
    with pytest.raises(ApiError, match=r"config: the file is read-only: omit --merge-kubeconfig"):
        published(tmp_path, "kohort", shared).write()
    assert (shared.read_text(), shared.stat().st_mode & 0o777) == (THEIRS, 0o400)


def test_the_file_is_kept_once_as_it_was(tmp_path: Path) -> None:
    shared = tmp_path / "config"
    shared.write_text(THEIRS)
    published(tmp_path, "kohort", shared).write()
    published(tmp_path, "kohort", shared, "https://here:2").write()
    assert (tmp_path / "config.before-kohort").read_text() == THEIRS
    assert load_client_config(ConfigOverrides(shared, "kohort")).server == "https://here:2"


def test_a_first_kubeconfig_has_the_cluster_as_its_current_context(tmp_path: Path) -> None:
    shared = tmp_path / "home" / ".kube" / "config"
    published(tmp_path, "kohort", shared).write()
    assert load_client_config(ConfigOverrides(shared)).server == "https://here:1"


def test_two_clusters_have_two_contexts(tmp_path: Path) -> None:
    shared = tmp_path / "config"
    published(tmp_path, "kohort", shared).write()
    published(tmp_path, "kohort-lab", shared, "https://here:2").write()
    assert load_client_config(ConfigOverrides(shared, "kohort")).server == "https://here:1"
    assert load_client_config(ConfigOverrides(shared, "kohort-lab")).server == "https://here:2"


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "config"
    real.write_text(THEIRS)
    link.symlink_to(real)
    found = ephemeral(tmp_path, link)
    found.write()
    assert link.is_symlink()
    assert load_client_config(ConfigOverrides(real, "kohort")).server == "https://here:1"
    found.withdraw()
    assert link.is_symlink()
    assert current_context((real,)) == "prod"


@pytest.mark.parametrize("text", ["just text", "clusters: 3", "{", "contexts: [1]"])
def test_what_is_no_kubeconfig_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    shared = tmp_path / "config"
    shared.write_text(text)
    with pytest.raises(ApiError, match="invalid kubeconfig"):
        add_context(KubeconfigMerge((shared,)), as_served("https://here:1"), ContextOwner("kohort", tmp_path))
    assert shared.read_text() == text
    assert not (tmp_path / "config.lock").exists()


def test_a_file_that_kubectl_is_writing_is_waited_for_in_vain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kohort.local.kubeconfig_files._LOCK_SECONDS", 0.0)
    (tmp_path / "config.lock").touch()
    with pytest.raises(ApiError, match=r"is locked by another program: remove .*config\.lock if it is stale"):
        add_context(
            KubeconfigMerge((tmp_path / "config",)), as_served("https://here:1"), ContextOwner("kohort", tmp_path)
        )


def test_an_unwritable_path_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    merge = KubeconfigMerge((tmp_path / "file" / "config",))
    with pytest.raises(ApiError, match=r"cannot (read|write) .*config: .*: omit --merge-kubeconfig"):
        add_context(merge, as_served("https://here:1"), ContextOwner("kohort", tmp_path))


def test_a_file_that_is_unexpected_is_no_reason_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("kohort.local.kubeconfig_files._LOCK_SECONDS", 0.0)
    shared = tmp_path / "config"
    published(tmp_path, "kohort", shared).write()
    (tmp_path / "config.lock").touch()
    keeping_up_to_date(published(tmp_path, "kohort", server="https://here:2"), shared).write()
    assert "updating merged kubeconfig failed" in caplog.text


def test_it_is_the_file_that_kubectl_writes_to(tmp_path: Path) -> None:
    files = kubectl_files({"KUBECONFIG": os.pathsep.join(f"{tmp_path}/{name}" for name in "abc")})
    assert default_file(files) == tmp_path / "c"
    (tmp_path / "b").touch()
    assert default_file(files) == tmp_path / "b"
    assert kubectl_files({}) == (Path.home() / ".kube" / "config",)


def test_a_file_that_has_the_cluster_is_kept_up_to_date_and_no_other_is_written(tmp_path: Path) -> None:
    shared = tmp_path / "config"
    shared.write_text(THEIRS)
    own = published(tmp_path, "kohort", server="https://here:2")
    keeping_up_to_date(own, shared).write()
    assert shared.read_text() == THEIRS
    published(tmp_path, "kohort", shared, "https://here:1").write()
    published(tmp_path, "kohort", server="https://here:2")
    keeping_up_to_date(own, shared).write()
    assert load_client_config(ConfigOverrides(shared, "kohort")).server == "https://here:2"


def test_another_users_cluster_of_the_same_name_is_left_alone(tmp_path: Path) -> None:
    shared = tmp_path / "config"
    other = as_served("https://elsewhere")
    other["clusters"][0]["cluster"]["certificate-authority-data"] = "YW5vdGhlcg=="
    shared.write_text(yaml.safe_dump(other))
    keeping_up_to_date(published(tmp_path, "kohort"), shared).write()
    assert load_client_config(ConfigOverrides(shared, "kohort")).server == "https://elsewhere"
