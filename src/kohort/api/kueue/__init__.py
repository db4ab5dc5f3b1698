"""The kinds of group `kueue.x-k8s.io` in both served versions, and what happens to them on the way in.

`v1beta2` is the hub and storage version; `v1beta1` converts at the edge (`conversion`).
"""
