"""Server-side printing: the columns of `kubectl get` for built-in kinds and custom resources."""

from kohort.embedded.tables.jsonpath import JsonPath, JsonPathError, compile_path
from kohort.embedded.tables.table import Include, TableVersion, table

__all__ = ["Include", "JsonPath", "JsonPathError", "TableVersion", "compile_path", "table"]
