"""Client for any Kubernetes API server: transport, client, informers, work queues, leader election, events."""
