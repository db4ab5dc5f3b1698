"""What a cluster needs to run Kohort, as plain objects: for `kubectl apply`, and for a Helm chart made of the same."""
