"""The visibility API, `visibility.kueue.x-k8s.io`: the order in which workloads wait (docs/spec/api.md section 7)."""
