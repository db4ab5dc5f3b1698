"""Lists as tables, for people: the columns that `kubectl get` shows, of built-in and of custom kinds."""

from kohort.embedded.tables.jsonpath import JsonPath, JsonPathError, compile_path
from kohort.embedded.tables.table import Include, TableVersion, table

__all__ = ["Include", "JsonPath", "JsonPathError", "TableVersion", "compile_path", "table"]
