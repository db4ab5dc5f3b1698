"""How Kohort talks to any Kubernetes API server: one transport, a client, informers, work queues, leases, events."""
