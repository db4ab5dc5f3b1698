"""The kinds of group `kueue.x-k8s.io` in both served versions, with conversion, defaulting and validation.

`v1beta2` is the hub and storage version; `v1beta1` is converted (`conversion`).
"""
