"""How requests reach the server: the HTTPS listener, the in-process transport, and rotation of serving certificates."""
