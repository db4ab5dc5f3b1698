"""Loads and validates the configuration file, with the line of each error."""

from dataclasses import dataclass
from pathlib import Path as FilePath

from kohort.api.config.common import KIND
from kohort.api.config.parsing import (
    FEATURE_GATES_FLAG,
    USUAL_SURROUNDINGS,
    ParsedConfiguration,
    ParsingContext,
    parse_configuration,
)
from kohort.api.config.v1beta2 import API_VERSION, Configuration
from kohort.api.documents import Document, read_documents
from kohort.api.documents.positions import one_line
from kohort.api.errors import ApiError, DocumentError
from kohort.api.fields import FieldError
from kohort.api.gates import FeatureGates

_NOTHING_SET = {"apiVersion": API_VERSION, "kind": KIND}


class ConfigurationError(ApiError):
    """An invalid configuration; its text has one line per error."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid configuration, its feature gates, and warnings."""

    config: Configuration
    gates: FeatureGates
    warnings: list[str]


def load_configuration(file: FilePath | None, surroundings: ParsingContext) -> Loaded:
    """Loads the file of the --config flag, or the defaults without a file (API-137)."""
    if file is None:
        result = parse_configuration(_NOTHING_SET, surroundings)
        return _usable(result, [str(error) for error in result.errors])
    document = _only_document(file)
    result = parse_configuration(document.value, surroundings)
    return _usable(result, [_with_place(error, document) for error in result.errors])


def default_configuration(surroundings: ParsingContext = USUAL_SURROUNDINGS) -> Configuration:
    """The defaults of v1beta2."""
    return load_configuration(None, surroundings).config


def _only_document(file: FilePath) -> Document:
    try:
        documents = list(read_documents(file.read_bytes(), str(file)))
    except OSError as error:
        raise ConfigurationError([f"{file}: {error.strerror or error}"]) from None
    except DocumentError as error:
        raise ConfigurationError([str(error)]) from None
    if len(documents) != 1:
        raise ConfigurationError([f"{file}: contains {len(documents)} documents, expected one Configuration"])
    return documents[0]


def _with_place(error: FieldError, document: Document) -> str:
    """The error on one line, with its position in the file; errors of the flag have none."""
    if error.path == FEATURE_GATES_FLAG:
        return one_line(str(error))
    return one_line(f"{document.file}:{document.line_of(error.path)}: {error}")


def _usable(result: ParsedConfiguration, problems: list[str]) -> Loaded:
    if problems or result.config is None:
        raise ConfigurationError(problems)
    return Loaded(result.config, result.gates, result.all_warnings)
