"""Bodies of subresources and reviews, which are no stored resources: Binding, Eviction, Scale, TokenRequest …"""

from functools import cache

from kohort.api.codec import JsonObject
from kohort.embedded.kinds.definitions import definition_name, node_of
from kohort.embedded.kinds.reading import read_object
from kohort.embedded.resources import ServedResource
from kohort.embedded.server.encoding.decoding import read_body
from kohort.embedded.server.requests.request_info import ServerRequest


@cache
def _resource(group: str, version: str, kind: str) -> ServedResource:
    schema = node_of(definition_name(group, version, kind))
    return ServedResource(group, version, f"{kind.lower()}s", kind, namespaced=True, schema=schema)


def read_subresource_body(request: ServerRequest, group: str, version: str, kind: str) -> JsonObject:
    """Decodes a subresource body of the given kind; raises 400 for any other."""
    return prune_subresource_body(read_body(request, kind), group, version, kind)


def prune_subresource_body(found: JsonObject, group: str, version: str, kind: str) -> JsonObject:
    """The body without unknown fields; raises 400 on values of a wrong type."""
    return read_object(_resource(group, version, kind), found).object
