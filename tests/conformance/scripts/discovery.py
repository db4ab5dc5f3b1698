"""Non-resource endpoints: version, discovery, OpenAPI, health."""

from conformance.differences import (
    ENUMS,
    OLD_AUTOSCALERS,
    OPENAPI_V2,
    STORAGE_HASHES,
    STREAMS,
    UNSERVED_ENTRIES,
    UNSERVED_KINDS,
    UNSERVED_VERSIONS,
    VERSION,
)
from conformance.script import OutputFormat, Script, Step

_ABOUT = Script(
    "about",
    (
        Step("version", differs=(VERSION,)),
        Step("version -o json", reading=OutputFormat.KEYS),
        Step("get --raw /version", reading=OutputFormat.KEYS),
        Step("cluster-info"),
        Step("get --raw /healthz"),
        Step("get --raw /livez"),
        Step("get --raw /readyz"),
        Step("api-versions", differs=(UNSERVED_VERSIONS,)),
        Step("api-resources --sort-by=name", differs=(UNSERVED_KINDS,)),
        Step("api-resources -o wide --api-group=batch"),
        Step("api-resources --namespaced=false -o name --sort-by=name", differs=(UNSERVED_KINDS,)),
        Step("api-resources --api-group=apps --verbs=list,watch -o name --sort-by=name"),
        Step("api-resources --categories=all -o name --sort-by=name"),
        Step("get --raw /api", reading=OutputFormat.JSON),
        Step("get --raw /apis/batch", reading=OutputFormat.JSON),
        Step("get --raw /apis/batch/v1", reading=OutputFormat.JSON, differs=(STORAGE_HASHES,)),
        Step("get --raw /api/v1", reading=OutputFormat.JSON, differs=(STORAGE_HASHES, STREAMS, UNSERVED_ENTRIES)),
        Step("get --raw /apis/missing.example.com"),
        Step("get --raw /apis/batch/v7"),
        Step("get --raw /openapi/v3", reading=OutputFormat.KEYS),
        Step("get --raw /nothing/here"),
    ),
)

_EXPLAIN = Script(
    "explain",
    (
        Step("explain pod"),
        Step("explain pod.spec.containers.resources"),
        Step("explain job.spec", differs=(ENUMS,)),
        Step("explain job.spec.template.spec.restartPolicy", differs=(ENUMS,)),
        Step("explain cronjobs --recursive", differs=(ENUMS,)),
        Step("explain cm.data"),
        Step("explain deployments.spec.strategy --recursive", differs=(ENUMS,)),
        Step("explain ingress.spec.rules.http.paths", differs=(ENUMS,)),
        Step("explain customresourcedefinition.spec.versions.schema"),
        Step("explain horizontalpodautoscaler --api-version=autoscaling/v1", differs=(OLD_AUTOSCALERS,)),
        Step("explain secret.type"),
        Step("explain pod.spec.nothing"),
        Step("explain nothing"),
        Step("explain lease -o plaintext-openapiv2", differs=(OPENAPI_V2,)),
    ),
)

CHAPTERS = (_ABOUT, _EXPLAIN)
