"""A scripted stand-in for the Flux Operator: the Job that it creates for a MiniCluster."""

from typing import Any

from jobs.custom_kinds import CustomKindsHarness, controller_of

Json = Any


async def create_flux_job(cluster: CustomKindsHarness, mini_cluster: Json) -> Json:
    """Create the Job of a MiniCluster: of the same name, indexed, with `jobLabels` as its labels."""
    spec, head = mini_cluster["spec"], mini_cluster["metadata"]
    containers = [{"name": "flux", **container} for container in spec["containers"]]
    template: Json = {"metadata": {"labels": {"job-name": head["name"]}}, "spec": {"containers": containers}}
    template["spec"]["restartPolicy"] = "OnFailure"
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": head["name"],
            "namespace": head["namespace"],
            "labels": spec.get("jobLabels"),
            "ownerReferences": controller_of(mini_cluster),
        },
        "spec": {
            "completionMode": "Indexed",
            "parallelism": spec["size"],
            "completions": spec["size"],
            "template": template,
        },
    }
    return await cluster.submit(job)
