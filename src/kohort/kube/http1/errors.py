"""What can go wrong on the wire; `kohort.kube.http` says it in the words of `kohort.kube.errors`.

WireError
├── NoConnectionError       nothing was sent
│   └── NoProxyError        because of the proxy
└── BrokenOffError          something was sent, and no whole answer came back
    ├── StaleError          nothing at all came back, on a connection that had lain idle
    └── MalformedError      what came is no HTTP
"""


class WireError(Exception):
    """A fault between us and the server; its text is a few words, its cause an error of the system if there was one."""


class NoConnectionError(WireError):
    """There is no connection to be had."""


class NoProxyError(NoConnectionError):
    """There is none because the proxy can't be reached, or refuses."""


class ConnectionClosedError(WireError):
    """The connection ended before the answer did."""


class StaleConnectionError(ConnectionClosedError):
    """A kept connection ended before a byte of the answer: in all likelihood its end met the request on the way."""


class MalformedError(ConnectionClosedError):
    """The peer sent what is no HTTP/1.1."""
