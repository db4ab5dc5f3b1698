"""CustomResourceDefinitions: what users teach the API server, and the objects of kinds it learnt this way."""

from kohort.embedded.crds.defaults import default_crd
from kohort.embedded.crds.resources import resources_of

__all__ = ["default_crd", "resources_of"]
