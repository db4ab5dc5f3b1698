"""Labels and annotations of the group (docs/spec/api.md §6)."""

QUEUE_NAME_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS_LABEL = "kueue.x-k8s.io/priority-class"
ADMISSION_GATED_BY_ANNOTATION = "kueue.x-k8s.io/admission-gated-by"
PRIORITY_BOOST_ANNOTATION = "kueue.x-k8s.io/priority-boost"
ELASTIC_JOB_ANNOTATION = "kueue.x-k8s.io/elastic-job"
SLICE_REPLACEMENT_ANNOTATION = "kueue.x-k8s.io/workload-slice-replacement-for"
ALLOWED_FLAVORS_ANNOTATION = "kueue.x-k8s.io/workload-allowed-resource-flavors"
