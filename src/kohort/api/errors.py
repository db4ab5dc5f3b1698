"""The errors of this package. Validation problems are values (`kohort.api.fields`), not exceptions.

ApiError
├── DecodeError      bytes or JSON that are not the object they should be
├── DocumentError    a manifest file that can't be read, with its place
└── ConversionError  an object that has no form in the other version
"""


class ApiError(Exception):
    """Anything that can be wrong with what a user or an API server sent; its text is one line for people."""


class DecodeError(ApiError):
    """The bytes or JSON value do not have the type's shape."""


class DocumentError(ApiError):
    """A manifest can't be read; names the file, the line and what is wrong there."""

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
    """The object can't be converted to the version asked for."""
