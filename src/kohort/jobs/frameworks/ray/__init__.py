"""KubeRay's kinds (§17.1 to §17.3): a cluster of its own, and jobs and services that have one."""
