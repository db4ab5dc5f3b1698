"""CustomResourceDefinitions, and validation of custom resources."""

from kohort.embedded.crds.conversion import WebhookConversionError, convert
from kohort.embedded.crds.defaults import default_crd
from kohort.embedded.crds.definitions import validate_crd
from kohort.embedded.crds.establishing import establish, is_established
from kohort.embedded.crds.objects import Shaped, ValidationResult, shape, validate, validate_status
from kohort.embedded.crds.pruning import prune, prune_and_default
from kohort.embedded.crds.resources import resources_of

__all__ = [
    "Shaped",
    "ValidationResult",
    "WebhookConversionError",
    "convert",
    "default_crd",
    "establish",
    "is_established",
    "prune",
    "prune_and_default",
    "resources_of",
    "shape",
    "validate",
    "validate_crd",
    "validate_status",
]
