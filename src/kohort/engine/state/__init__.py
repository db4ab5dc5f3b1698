"""The state of the engine: a store of plain data, and trackers that apply events to it."""
