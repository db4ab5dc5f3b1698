"""Installation manifests as plain objects, for `kubectl apply` and for a Helm chart built from the same objects."""
