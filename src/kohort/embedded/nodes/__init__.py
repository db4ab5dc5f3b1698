"""Node agents, the kubelet equivalent: register nodes, run their pods through a runtime and report their status."""
