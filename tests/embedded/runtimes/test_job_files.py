"""Opening, making and removing files in directories that a job can change at any moment."""

import os
from pathlib import Path

import pytest

from kohort.embedded.runtimes.job_files import make_below, open_path, read_regular, remove_tree


def test_the_beginning_of_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    assert read_regular(tmp_path / "file", 4) == b"0123"
    assert read_regular(tmp_path / "file", 100) == b"0123456789"


def test_nothing_else_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"secret")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "directory").mkdir()
    for name in ("link", "fifo", "directory", "missing"):
        with pytest.raises(OSError):  # noqa: PT011 - each in its own way
            read_regular(tmp_path / name, 100)


def test_a_path_is_opened_only_without_links(tmp_path: Path) -> None:
    top = Path(os.path.realpath(tmp_path))
    (top / "real" / "deep").mkdir(parents=True)
    (top / "link").symlink_to("real")
    with open_path(str(top / "real" / "deep")) as found:
        assert os.path.samestat(os.fstat(found), (top / "real" / "deep").stat())
    for path in ("link", "link/deep", "real/../real", "real/missing"):
        with pytest.raises(OSError), open_path(str(top / path)):  # noqa: PT011
            pass


def test_directories_are_made_below_and_not_through_links(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    top = tmp_path / "top"
    top.mkdir()
    make_below(str(top), "a/b", 0o777)
    assert (top / "a" / "b").stat().st_mode & 0o777 == 0o777
    make_below(str(top), "a/b", 0o700)
    assert (top / "a" / "b").stat().st_mode & 0o777 == 0o777, "what is there is left as it is"
    (top / "link").symlink_to(tmp_path / "outside")
    for part in ("link/new", "link", "../outside/new"):
        with pytest.raises(OSError):  # noqa: PT011
            make_below(str(top), part, 0o777)
    assert os.listdir(tmp_path / "outside") == []


def test_a_tree_is_removed_however_deep_it_is(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").touch()
    top = tmp_path / "top"
    top.mkdir()
    fd = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=fd)
        os.symlink(tmp_path / "outside", "link", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    remove_tree(top)
    assert os.listdir(tmp_path) == ["outside"]
    assert os.listdir(tmp_path / "outside") == ["file"]


def test_a_link_or_a_file_in_place_of_a_tree_is_removed_alone(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").touch()
    (tmp_path / "link").symlink_to("outside")
    (tmp_path / "file").touch()
    for name in ("link", "file", "missing"):
        remove_tree(tmp_path / name)
    assert os.listdir(tmp_path) == ["outside"]
    assert os.listdir(tmp_path / "outside") == ["file"]
