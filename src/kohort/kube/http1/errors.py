"""Errors of connections; `kohort.kube.http` translates them to `kohort.kube.errors`.

WireError
├── NoConnectionError         nothing was sent
│   └── NoProxyError          because of the proxy
└── ConnectionClosedError     something was sent, and no complete response came back
        ├── StaleConnectionError  nothing came back, on a connection that had been idle
        └── MalformedError        the response is not valid HTTP
"""


class WireError(Exception):
    """An error between client and server; its cause is an error of the operating system, if there was one."""


class NoConnectionError(WireError):
    """Connecting failed."""


class NoProxyError(NoConnectionError):
    """Connecting to the proxy failed, or the proxy rejected the connection."""


class ConnectionClosedError(WireError):
    """The connection closed before the response was complete."""


class StaleConnectionError(ConnectionClosedError):
    """A kept connection closed before the first byte of the response, probably before the request arrived."""


class MalformedError(ConnectionClosedError):
    """The peer sent invalid HTTP/1.1."""
