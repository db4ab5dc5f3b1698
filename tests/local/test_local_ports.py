"""Ports: those of the last start as long as they are free, and one line where a requested one is not."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kohort.api.errors import ApiError
from kohort.local.ports import LOCAL, ListenAddress, Ports, listening


@pytest.fixture
def taken() -> Iterator[int]:
    """A port with a listener."""
    with socket.socket() as other:
        other.bind((LOCAL, 0))
        other.listen()
        yield int(other.getsockname()[1])


def choose_ports(wanted: ListenAddress, file: Path | None) -> Ports:
    """The ports of a start that ends at once."""
    with listening(wanted, file) as bound:
        return Ports(int(bound.api.getsockname()[1]), int(bound.webhooks.getsockname()[1]))


def test_no_other_process_can_take_the_ports_while_a_cluster_starts() -> None:
    with listening(ListenAddress(), None) as bound:
        for each in (bound.api, bound.webhooks):
            with pytest.raises(OSError, match="in use"):
                socket.create_server((LOCAL, each.getsockname()[1]))


def test_ports_stay_from_start_to_start(tmp_path: Path) -> None:
    first = choose_ports(ListenAddress(), tmp_path / "ports.json")
    assert first.api != first.webhooks
    assert choose_ports(ListenAddress(), tmp_path / "ports.json") == first


def test_a_port_that_is_taken_by_now_is_replaced(tmp_path: Path, taken: int) -> None:
    file = tmp_path / "ports.json"
    file.write_text(f'{{"api": {taken}, "webhooks": {taken}}}')
    found = choose_ports(ListenAddress(), file)
    assert taken not in (found.api, found.webhooks)
    assert choose_ports(ListenAddress(), file) == found


def test_a_requested_port_in_use_is_reported_in_one_line(taken: int) -> None:
    with pytest.raises(ApiError, match=f"port {taken} of {LOCAL} is in use: choose another --port, or omit --port"):
        choose_ports(ListenAddress(port=taken), None)


def test_an_address_that_is_not_of_this_machine_is_reported_in_one_line() -> None:
    with pytest.raises(ApiError, match=r"cannot listen on 192\.0\.2\.1"):
        choose_ports(ListenAddress(host="192.0.2.1"), None)
    with pytest.raises(ApiError, match=r"cannot listen on 192\.0\.2\.1 port 6443"):
        choose_ports(ListenAddress(host="192.0.2.1", port=6443), None)


def test_a_memory_that_makes_no_sense_is_none(tmp_path: Path) -> None:
    (tmp_path / "ports.json").write_text("{nonsense")
    assert choose_ports(ListenAddress(), tmp_path / "ports.json").api
