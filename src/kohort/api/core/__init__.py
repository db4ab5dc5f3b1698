"""Views of the Kubernetes kinds that Kohort reads or writes, one module per topic.

A view is partial: changes are sent as patches, so that fields outside the view are never lost.
"""

import importlib
import pkgutil

from kohort.api.core.objects import KindView


def views() -> list[type[KindView]]:
    """All views of kinds in this package, by group, version and kind."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    ours = [view for view in _below(KindView) if view.__module__.startswith(f"{__name__}.")]
    return sorted(ours, key=lambda view: (view.resource.group, view.resource.version, view.resource.kind))


def _below(base: type[KindView]) -> list[type[KindView]]:
    declared = [base] if "resource" in base.__dict__ else []
    return [*declared, *(view for child in base.__subclasses__() for view in _below(child))]
