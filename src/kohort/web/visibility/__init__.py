"""The visibility API, `visibility.kueue.x-k8s.io`: the order of pending workloads (docs/spec/api.md section 7)."""
