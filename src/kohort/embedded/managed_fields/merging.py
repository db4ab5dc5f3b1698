"""A configuration laid over the live object: members merge, atomic values are replaced, items meet by name.

Items keep the configuration's order; an item that only the live list has stays before its old successor.
"""

from collections import deque

from kohort.api.codec import Json
from kohort.embedded.managed_fields.comparison import Groups, grouped
from kohort.embedded.managed_fields.field_schema import FieldSchema, NoKeyError


def merged(live: Json, config: Json, shape: FieldSchema) -> Json:
    """Both as one value; what only one of them has is shared with it."""
    if isinstance(live, dict) and isinstance(config, dict) and not shape.is_atomic:
        both = dict(live)
        for name, value in config.items():
            both[name] = merged(live[name], value, shape.member(name)) if name in live else value
        return both
    if isinstance(live, list) and isinstance(config, list) and shape.is_divided:
        return _merged_items(live, config, shape)
    return config


def _merged_items(live: list[Json], config: list[Json], shape: FieldSchema) -> list[Json]:
    try:
        before, wanted = grouped(live, shape), grouped(config, shape)
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
                result.append(_merged_item(coming.popleft(), before, wanted, shape))
            result.append(_merged_item(coming.popleft(), before, wanted, shape))
    return result + [_merged_item(element, before, wanted, shape) for element in coming]


def _merged_item(element: str, before: Groups, wanted: Groups, shape: FieldSchema) -> Json:
    item = wanted[element][0]
    return merged(before[element][0], item, shape.item) if element in before else item
