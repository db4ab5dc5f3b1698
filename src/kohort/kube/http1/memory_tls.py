"""TLS on memory buffers: all received data is decrypted, and all data to send is encrypted, in one call.

asyncio's TLS runs much Python code per packet, which costs a client with many requests and watches more CPU than the
encryption itself.
"""

import ssl

RECORD = 2**14
"""Maximum size of a TLS record: one read decrypts a whole record."""


class MemoryTls:
    """The client side of a TLS connection, without a socket."""

    __slots__ = ("_incoming", "_outgoing", "_tls", "is_over")

    def __init__(self, context: ssl.SSLContext, server_name: str) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_name)
        self.is_over = False
        """Whether the peer sent close_notify, so that nothing was truncated."""

    def handshake(self, data: bytes | memoryview) -> bool:
        """Continue the handshake; whether it is complete. Raises SSLError."""
        self._incoming.write(data)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def decrypt(self, data: memoryview) -> bytes:
        """Decrypt received data; raises SSLError."""
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

    def encrypt(self, data: bytes) -> bytes:
        """Encrypt data; raises SSLError."""
        sent = self._tls.write(data)
        while sent < len(data):
            sent += self._tls.write(data[sent:])
        return self._outgoing.read()

    def pending_output(self) -> bytes:
        """Data that TLS itself has to send: handshake messages, alerts, key updates."""
        return self._outgoing.read() if self._outgoing.pending else b""
