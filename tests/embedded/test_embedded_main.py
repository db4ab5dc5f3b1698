"""`python -m kohort.embedded`: failed starts are reported in one line."""

import socket
from pathlib import Path

import pytest

from kohort.embedded.__main__ import main


def reported(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert reported(["--ephemeral", "--port", str(port)], capsys).startswith(
            f"error: can't serve on 127.0.0.1 port {port}: "
        )


def test_a_file_that_is_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "store.db").write_text("hello")
    output = reported(["--data", str(tmp_path)], capsys)
    assert output.startswith(f"error: {tmp_path}/store.db: not a Kohort store")
    assert (tmp_path / "store.db").read_text() == "hello"


def test_a_port_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--ephemeral", "--port", "70000"])
    assert "give a number from 0 to 65535" in capsys.readouterr().err
