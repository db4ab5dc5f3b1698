"""CustomResourceDefinitions: what users teach the API server, and the objects of kinds it learnt this way."""

from kohort.embedded.crds.defaults import default_crd
from kohort.embedded.crds.objects import Prepared, Shaped, Verdict, prepare, shape, validate, validate_status
from kohort.embedded.crds.resources import resources_of

__all__ = [
    "Prepared",
    "Shaped",
    "Verdict",
    "default_crd",
    "prepare",
    "resources_of",
    "shape",
    "validate",
    "validate_status",
]
