"""TLS between two buffers in memory: what came is opened in one go, what goes out is sealed in one go.

asyncio's own TLS takes many turns through Python code for each packet; for a client that asks and listens all day
these cost more than the ciphers do.
"""

import ssl

RECORD = 2**14
"""The most that a TLS record holds: one reading takes a whole one."""


class MemoryTls:
    """Our end of a TLS connection, without a socket."""

    __slots__ = ("_incoming", "_outgoing", "_tls", "is_over")

    def __init__(self, context: ssl.SSLContext, server_name: str) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_name)
        self.is_over = False
        """Whether the peer said goodbye: what came until then is all that it wanted to say."""

    def shake(self, data: bytes | memoryview) -> bool:
        """Go on with the handshake; whether it is through. Raises SSLError."""
        self._incoming.write(data)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def open(self, data: memoryview) -> bytes:
        """The plain text of what came; raises SSLError."""
        incoming, read = self._incoming, self._tls.read
        incoming.write(data)
        parts = []
        try:
            while incoming.pending and not self.is_over:
                part = read(RECORD)
                parts.append(part)
                self.is_over = not part
        except ssl.SSLWantReadError:
            pass
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def seal(self, data: bytes) -> bytes:
        """What is to be sent for a plain text; raises SSLError."""
        sent = self._tls.write(data)
        while sent < len(data):
            sent += self._tls.write(data[sent:])
        return self._outgoing.read()

    def due(self) -> bytes:
        """What TLS itself has to say: handshakes, alerts, new keys."""
        return self._outgoing.read() if self._outgoing.pending else b""
