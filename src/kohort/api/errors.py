"""The errors of this package. Validation problems are values (`kohort.api.fields`), not exceptions.

ApiError
├── DecodeError      bytes or JSON that do not match their type
├── DocumentError    a manifest file that cannot be read, with the position
└── ConversionError  an object that cannot be converted to another version
"""


class ApiError(Exception):
    """An error in the input of a user or an API server; its text is one line."""


class DecodeError(ApiError):
    """The bytes or JSON value do not match the type."""


class DocumentError(ApiError):
    """A manifest cannot be read; names the file, the line and the cause."""

    def __init__(self, message: str, *, file: str, line: int = 0, column: int = 0) -> None:
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        super().__init__(f"{self.place}: {message}")

    @property
    def place(self) -> str:
        """`file:line:column`, as far as known."""
        known = [self.file, *(str(number) for number in (self.line, self.column) if number)]
        return ":".join(known)


class ConversionError(ApiError):
    """The object cannot be converted to the requested version."""
