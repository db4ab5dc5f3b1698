"""Merges a configuration into the live object: members merge, atomic values are replaced, items match by key.

Items keep the configuration's order; an item of the live list only stays before its old successor.
"""

from collections import deque

from kohort.api.codec import Json
from kohort.embedded.managed_fields.comparison import ItemGroups, items_by_element
from kohort.embedded.managed_fields.field_schema import FieldSchema, NoKeyError


def merged(live: Json, config: Json, schema: FieldSchema) -> Json:
    """The merged value; parts from one side only are shared with it."""
    if isinstance(live, dict) and isinstance(config, dict) and not schema.is_atomic:
        both = dict(live)
        for name, value in config.items():
            both[name] = merged(live[name], value, schema.member(name)) if name in live else value
        return both
    if isinstance(live, list) and isinstance(config, list) and schema.is_associative:
        return _merged_items(live, config, schema)
    return config


def _merged_items(live: list[Json], config: list[Json], schema: FieldSchema) -> list[Json]:
    try:
        before, wanted = items_by_element(live, schema), items_by_element(config, schema)
    except NoKeyError:
        return config
    result: list[Json] = []
    coming = deque(wanted)
    shared = deque(element for element in wanted if element in before)
    for element, items in before.items():
        if element not in wanted:
            result.extend(items)
        elif shared and shared[0] == element:
            shared.popleft()
            while coming[0] != element:
                result.append(_merged_item(coming.popleft(), before, wanted, schema))
            result.append(_merged_item(coming.popleft(), before, wanted, schema))
    return result + [_merged_item(element, before, wanted, schema) for element in coming]


def _merged_item(element: str, before: ItemGroups, wanted: ItemGroups, schema: FieldSchema) -> Json:
    item = wanted[element][0]
    return merged(before[element][0], item, schema.item) if element in before else item
