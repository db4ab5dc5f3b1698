"""Manifest files that can't be read: one line with the place for each mistake, at bounded cost."""

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.manifest_texts import FILE, JOB, documents, error_of, value
from kohort.api.documents import MAX_DEPTH, MAX_FILE_BYTES, Document, read_documents
from kohort.api.errors import DocumentError

PARSERS = [yaml.SafeLoader, *([yaml.CSafeLoader] if yaml.__with_libyaml__ else [])]


@pytest.fixture(params=PARSERS, ids=lambda parser: parser.__name__)
def either_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kohort.api.documents.yaml_reader._PARSER", request.param)


def laughs(of: str) -> str:
    return "a0: &a0 [lol]\n" + "".join(f"a{n}: &a{n} {of.format(previous=f'*a{n - 1}')}\n" for n in range(1, 20))


BAD = {
    "tab": (b"a:\n\tb: 1\n", 2),
    "two values": (b"a: b: c\n", 1),
    "indentation": (b"a:\n  b: 1\n c: 2\n", 3),
    "unclosed quote": (b'x: 1\na: "b\nc: 1\n', 2),
    "unclosed bracket": (b"x: 1\na: [1, 2\n", None),
    "no colon": (b"a: 1\nb\nc: 1\n", 2),
    "json without comma": (b'{"a": 1\n "b": 2}', 2),
    "json with trailing comma": (b'{"a": [1,\n]}x', 2),
    "json cut off": (b'{"a": {\n"b": ', None),
    "json and then words": (b'{"a": 1}\nwords', 2),
    "json escape": (b'{"a":\n "\\q"}', 2),
    "json leading zero": (b'{"a":\n 01x}{', None),
    "duplicate key": (b"a: 1\nb: 2\na: 3\n", 3),
    "duplicate key in json": (b'{"a": 1,\n "a": 2}', 2),
    "duplicate key of another type": (b'1: a\n"1": b\n', 2),
    "duplicate key about a merge": (b"x: 1\n<<: {x: 2}\nx: 3\n", 3),
    "not utf-8": (b"a: 1\nb: caf\xe9\n", 2),
    "cut off utf-8": (b"a: 1\nb: \xe2\x82", 2),
    "half of utf-16": (b"\xff\xfea\x00:\x00\n\x00\x00\xd8", 2),
    "nul": (b"a: 1\nb: \x00\n", 2),
    "escape character": (b"a: 1\nb: x\x1b[31m\n", 2),
    "nul in json": (b'{"a":\n "\x00"}', 2),
    "lone surrogate": (b'a: 1\nb: "\\ud800"\n', 2),
    "lone surrogate in json": (b'{"a":\n "\\udc00"}', 2),
    "character out of range": (b'a: 1\nb: "\\UFFFFFFFF"\n', 2),
    "5000 digits": (b"a: 1\nb: " + b"9" * 5000 + b"\n", 2),
    "5000 digits in json": (b'{"a":\n ' + b"9" * 5000 + b"}", 2),
    "number out of range in json": (b'{"a":\n 1e400}', 2),
    "400 digits": (b"a: 1\nb: " + b"9" * 400 + b"\n", 2),
    "infinity": (b"a: 1\nb: .inf\n", 2),
    "not a number": (b"a: 1\nb: .NaN\n", 2),
    "python tag": (b"a: 1\nb: !!python/object/apply:os.system [ls]\n", 2),
    "python name": (b"a: 1\nb: !!python/name:os.system x\n", 2),
    "own tag": (b"a: 1\nb: !secret x\n", 2),
    "own tag of a mapping": (b"a: 1\nb: !secret {x: 1}\n", 2),
    "wrong tag of a list": (b"a: 1\nb: !!map [1]\n", 2),
    "long tag": (b"a: 1\nb: !" + b"x" * 5000 + b" y\n", 2),
    "tag against its value": (b"a: 1\nb: !!int x\n", 2),
    "binary that is no base64": (b"a: 1\nb: !!binary '%'\n", 2),
    "binary that is no text": (b"a: 1\nb: !!binary /w==\n", 2),
    "unknown anchor": (b"a: 1\nb: *x\n", 2),
    "long unknown anchor": (b"a: 1\nb: *" + b"x" * 5000 + b"\n", 2),
    "alias as key to a list": (b"a: &x [1]\n*x : 1\n", 2),
    "too deep": (b"a:\n  " + b"[" * 500 + b"]" * 500, 2),
    "too deep in json": (b'{"a":\n' + b"[" * 500 + b"]" * 500 + b"}", 2),
    "too deep by blocks": (b"\n".join(b" " * n + b"a:" for n in range(300)), MAX_DEPTH + 1),
    "endlessly deep": (b"[" * 1_000_000, 1),
    "too deep by aliases": (laughs("[{previous}]").replace("[", "[" * 20).replace("]", "]" * 20).encode(), None),
    "large object": (b"a: 1\n---\nb: |\n  " + b"x" * 4_000_000, 3),
    "large file": (b"#" * (MAX_FILE_BYTES + 1), 0),
}


@pytest.mark.usefixtures("either_parser")
@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_with_its_position(name: str) -> None:
    data, line = BAD[name]
    error = error_of(data)
    if line is not None:
        assert error.line == line


def test_the_message_names_what_is_wrong_and_what_to_do() -> None:
    assert str(error_of(b"a: 1\na: 2\n")) == ('job.yaml:2:1: duplicate key "a": each key may appear once in a mapping')
    assert str(error_of(b"a: caf\xe9")) == ("job.yaml:1:7: byte 0xe9 at offset 6 is not UTF-8; save the file as UTF-8")
    assert str(error_of(b'{"a": 1,, "b": 2}')).startswith(
        "job.yaml:1:9: not valid JSON: expected a key in double quotes"
    )
    assert "indent with spaces, not with tabs" in str(error_of(b"a:\n\tb: 1\n"))


def test_a_problem_of_flow_yaml_is_reported_in_yaml_terms() -> None:
    assert str(error_of("{a: b,\n c: @d}\n")).startswith("job.yaml:2:5: not valid YAML")
    assert str(error_of('{"a":\n 1}\n---\nb: \x00\n')).startswith("job.yaml:4:4: character U+0000 is not allowed")


@pytest.mark.parametrize(
    ("limit", "text"), [("tree.MAX_VALUES", "a:\n- [1, 2]\n- 3\n"), ("stream.MAX_OBJECTS", "{}\n" * 6)]
)
def test_what_one_file_may_hold_is_bounded(limit: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"kohort.api.documents.{limit}", 6)
    assert len(documents(text.replace("- 3\n", "").removesuffix("{}\n"))) >= 1
    monkeypatch.setattr(f"kohort.api.documents.{limit}", 5)
    assert "split" in error_of(text).message


@pytest.fixture
def peak() -> Iterator[Any]:
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.mark.parametrize(
    "of", ["[" + ",".join(["{previous}"] * 10) + "]", "{{" + ",".join(f"k{n}: {{previous}}" for n in range(10)) + "}}"]
)
def test_a_billion_laughs_are_refused_at_little_cost(of: str, peak: Any) -> None:
    assert "aliases expand to more than 3 MiB" in error_of(laughs(of)).message
    assert peak() < 100 * 1024**2


def test_a_file_of_ten_megabytes_and_many_documents_is_read_within_a_few_times_its_size(peak: Any) -> None:
    text = "---\n".join(f"{JOB}data: |\n  {'x' * 10_000}\n" for _ in range(1000)).encode()
    assert len(text) > 10**7
    assert sum(1 for _ in read_documents(text, FILE)) == 1000
    assert peak() < 5 * len(text)


PIECES = st.sampled_from(
    [
        *"ab1:,-?&*!|>'\"%@`#{}[]~ \n\t\r\\\x00\x85\u2028\ufeff😀é",
        *("<<", "---", "...", "&a ", "*a", "!!str", "!!int", ".inf", "0x", "017", "\\u", "\\ud800", "%YAML", "%TAG"),
        *("  ", ": ", "- ", ", ", "\n  ", "\n---\n"),
    ]
)


def outcome(data: bytes) -> list[Document] | DocumentError:
    try:
        return list(read_documents(data, FILE))
    except DocumentError as error:
        return error


def read_or_refuse(data: bytes) -> None:
    result = outcome(data)
    if isinstance(result, DocumentError):
        assert str(result).isprintable()
        assert result.line >= 1
    else:
        assert all(json.dumps(document.value, allow_nan=False).encode() for document in result)
        assert all(document.line >= 1 for document in result)


class TestNothingButDocumentErrors:
    """Any bytes result in documents or in a DocumentError."""

    @given(data=st.binary(max_size=200))
    def test_bytes(self, data: bytes) -> None:
        read_or_refuse(data)

    @pytest.mark.usefixtures("either_parser")
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(text=st.lists(PIECES, max_size=40).map("".join))
    def test_text_made_of_yaml(self, text: str) -> None:
        read_or_refuse(text.encode())

    @given(
        prefix=st.sampled_from(["{", "[", '{"a":', '{}{"', '{"a": "\\']),
        text=st.lists(PIECES, max_size=20).map("".join),
    )
    def test_text_that_looks_like_json(self, prefix: str, text: str) -> None:
        read_or_refuse((prefix + text).encode())

    @given(data=st.data())
    def test_a_manifest_with_a_byte_changed(self, data: st.DataObject) -> None:
        text = bytearray(data.draw(st.sampled_from([JOB.encode(), json.dumps(value(JOB), indent=1).encode()])))
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
        read_or_refuse(bytes(text))
