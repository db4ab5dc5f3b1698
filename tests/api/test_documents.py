"""Manifest files: how they are read, and the position of each field."""

import io
import json
import os
import sys
from pathlib import Path as File
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from api.manifest_texts import FILE, JOB, documents, error_of, place_of_error, value, values
from kohort.api.documents import MAX_DEPTH, Document, discover, load, read_documents
from kohort.api.errors import DocumentError
from kohort.api.fields import ROOT, Path


class TestStreams:
    def test_a_stream_holds_several_documents_and_empty_ones_are_skipped(self) -> None:
        text = "---\n# nothing\n---\na: 1\n---\n---\nnull\n---\nb: 2\n...\n"
        assert [(document.value, document.line) for document in documents(text)] == [({"a": 1}, 4), ({"b": 2}, 9)]

    def test_an_empty_file_holds_nothing(self) -> None:
        assert documents("") == documents("# only a comment\n") == documents("\ufeff") == []

    @pytest.mark.parametrize(
        "text",
        ['{"a": 1}\n{"b": 2}\n', '{"a":1}{"b":2}', '{"a": 1}\n---\n{"b": 2}', '# first\n{"a": 1} # so\n---\nb: 2\n'],
    )
    def test_json_comes_concatenated_one_a_line_or_between_dashes(self, text: str) -> None:
        assert values(text) == [{"a": 1}, {"b": 2}]

    def test_json_that_yaml_parsers_refuse_is_read(self) -> None:
        text = '{"face": "\\ud83d\\ude00", "slash": "\\/",\t"%s": 1}' % ("k" * 2000)
        assert value(text) == {"face": "😀", "slash": "/", "k" * 2000: 1}

    def test_yaml_in_flow_style_is_not_taken_for_json(self) -> None:
        assert values("{a: b, c: [yes]}\n---\n[x]\n") == [{"a": "b", "c": [True]}, ["x"]]

    def test_documents_come_as_they_are_read(self) -> None:
        stream = read_documents(b"a: 1\n---\na: [\n", FILE)
        assert next(stream).value == {"a": 1}
        with pytest.raises(DocumentError):
            next(stream)

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
    def test_a_byte_order_mark_defines_the_encoding(self, encoding: str) -> None:
        assert value("name: Zoë 😀\n".encode(encoding)) == {"name": "Zoë 😀"}


class TestLists:
    def test_each_item_of_a_list_is_a_document_with_its_own_line(self) -> None:
        text = "apiVersion: v1\nitems:\n- kind: A\n  spec:\n    x: 1\n- kind: B\nkind: List\n"
        first, second = documents(text)
        assert (first.value, first.line) == ({"kind": "A", "spec": {"x": 1}}, 3)
        assert (second.value, second.line) == ({"kind": "B"}, 6)
        assert first.line_of(ROOT / "spec" / "x") == 5

    def test_lists_within_lists_are_expanded_and_empty_ones_hold_nothing(self) -> None:
        inner = '{"kind": "List", "items": [{"kind": "A"}]}'
        assert values(f'{{"kind": "List", "items": [{inner}, {{"kind": "List", "items": null}}]}}') == [{"kind": "A"}]

    def test_an_item_of_a_typed_list_takes_its_type_from_the_list(self) -> None:
        text = "apiVersion: batch/v1\nkind: JobList\nitems:\n- spec: {}\n"
        assert value(text) == {"apiVersion": "batch/v1", "kind": "Job", "spec": {}}

    def test_an_object_that_merely_has_items_stays_whole(self) -> None:
        assert value("kind: Shopping\nitems: [milk]\n") == {"kind": "Shopping", "items": ["milk"]}

    def test_items_must_be_objects(self) -> None:
        assert place_of_error("kind: List\nitems:\n- kind: A\n- 5\n") == (4, 3)
        assert place_of_error("kind: List\nitems: 5\n") == (2, 1)


class TestPlaces:
    @pytest.mark.parametrize(
        ("path", "position"),
        [
            (ROOT, (2, 1)),
            (ROOT / "metadata" / "name", (5, 3)),
            (ROOT / "metadata" / "labels" / "kueue.x-k8s.io/queue-name", (7, 5)),
            ((ROOT / "metadata" / "labels")["kueue.x-k8s.io/queue-name"], (7, 5)),
            ((ROOT / "spec" / "template" / "spec" / "containers")[1], (16, 9)),
            ((ROOT / "spec" / "template" / "spec" / "containers")[1] / "name", (16, 9)),
            ((ROOT / "spec" / "template" / "spec" / "containers")[0] / "args", (14, 9)),
            (((ROOT / "spec" / "template" / "spec" / "containers")[0] / "args")[1], (15, 16)),
        ],
    )
    def test_a_field_has_its_line_and_column(self, path: Path, position: tuple[int, int]) -> None:
        [job] = documents(JOB)
        assert job.position_of(path) == position
        assert job.line_of(path) == position[0]

    @pytest.mark.parametrize(
        ("path", "line"),
        [
            (ROOT / "spec" / "suspend", 8),
            (ROOT / "spec" / "template" / "metadata" / "name", 10),
            ((ROOT / "spec" / "template" / "spec" / "containers")[7] / "image", 12),
            (ROOT / "spec" / "parallelism" / "deeper", 9),
            (ROOT / "status", 2),
        ],
    )
    def test_a_missing_field_has_the_line_of_its_nearest_ancestor(self, path: Path, line: int) -> None:
        [job] = documents(JOB)
        assert job.line_of(path) == line

    def test_json_has_positions_too(self) -> None:
        [job] = documents('\n{"metadata":\n  {"name": "x",\n   "args": [1,\n 2]}}')
        assert job.line == 2
        assert job.position_of(ROOT / "metadata" / "name") == (3, 4)
        assert job.position_of((ROOT / "metadata" / "args")[1]) == (5, 2)

    def test_yaml_after_json_counts_lines_from_the_start_of_the_file(self) -> None:
        _, second = documents('{"a":\n 1}\n---\nb:\n  c: 2\n')
        assert (second.line, second.line_of(ROOT / "b" / "c")) == (4, 5)

    def test_the_longest_key_counts_where_keys_hold_dots(self) -> None:
        [document] = documents("a:\n  b: 1\na.b: 2\na.b.c: 3\n")
        assert [document.line_of(Path(text)) for text in ("a", "a.b", "a.b.c", "a.bc")] == [1, 3, 4, 1]

    def test_aliased_and_merged_values_have_the_position_of_their_definition(self) -> None:
        text = "base: &base\n  x: 1\none: *base\ntwo:\n  <<: *base\n  z: 2\n"
        [document] = documents(text)
        assert document.line_of(ROOT / "one") == 3
        assert document.line_of(ROOT / "one" / "x") == document.line_of(ROOT / "two" / "x") == 2
        assert document.line_of(ROOT / "two" / "z") == 6

    def test_a_document_built_in_code_has_a_line(self) -> None:
        assert Document({"a": 1}, FILE).line_of(ROOT / "a") == 1


class TestScalarsAsKubernetesReadsThem:
    """Compared with sigs.k8s.io/yaml 1.6."""

    @pytest.mark.parametrize(
        ("text", "read"),
        [
            *[(word, True) for word in ("y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE")],
            *[(word, False) for word in ("n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE")],
            *[(word, None) for word in ("", "~", "null", "Null", "NULL")],
            *[(word, word) for word in ("yEs", "tRue", "nUll", "1:30", "190:20:30", "1,000", "=", "<<", "Infinity")],
            *[
                (word, word)
                for word in ("2020-01-01", "2020-01-01T00:00:00Z", "_1", "0o8", "0x", "0b2", "1e", "١", ".")
            ],
            *[(octal, 15) for octal in ("017", "0o17", "0O17", "+017", "0_17")],
            *[(number, 1000) for number in ("1000", "1_000", "+1000", "1e3", "1E+3", "1000.0", "1.e3", "0x3E8")],
            ("-0x1F", -31),
            ("0b101", 5),
            ("089", 89),
            ("1.50", 1.5),
            ("-.5", -0.5),
            (".4_", ".4_"),
            ("._4", "._4"),
            (".4_5", 0.45),
            ("1_0.5", 10.5),
            ("18446744073709551615", 2**64 - 1),
            ("1e21", 1e21),
            ("1e400123", "1e400123"),
            ("0x1ffffffffffffffff", "0x1ffffffffffffffff"),
            ('"yes"', "yes"),
            ("'017'", "017"),
            ("|-\n  5", "5"),
            ("!!str 5", "5"),
            ("! 5", "5"),
            ("!!str", ""),
            ('!!int "3"', 3),
            ("!!float 3", 3),
            ('!!bool "yes"', True),
            ("!!null", None),
            ("!!timestamp 2020-01-01", "2020-01-01"),
            ("!!binary aGVs\n  bG8=", "hello"),
            ("!!map {a: 1}", {"a": 1}),
            ("!!seq [1]", [1]),
        ],
    )
    def test_a_scalar_has_kubernetes_meaning(self, text: str, read: Any) -> None:
        result = value(f"v: {text}\n")["v"]
        assert (result, type(result)) == (read, type(read))

    def test_an_integral_number_is_an_integer_in_json_as_well(self) -> None:
        assert (
            json.dumps(value('{"a": 1.0, "b": 1e3, "c": 1.5, "d": 1e21}'))
            == '{"a": 1, "b": 1000, "c": 1.5, "d": 1e+21}'
        )

    def test_large_integers_keep_their_digits(self) -> None:
        digits = 10**300 + 7
        assert value(f"a: {digits}\n") == value(f'{{"a": {digits}}}') == {"a": digits}

    @pytest.mark.parametrize(
        ("key", "name"),
        [
            ("1", "1"),
            ("0x10", "16"),
            ("017", "15"),
            ("true", "true"),
            ("yes", "true"),
            ("1.5", "1.5"),
            ("1.10", "1.1"),
            ("7e6", "7e+06"),
        ],
    )
    def test_keys_that_are_not_text_become_text(self, key: str, name: str) -> None:
        assert value(f"{key}: v\n") == {name: "v"}

    @pytest.mark.parametrize("key", ["~", "[1]", "{a: 1}", "1.23456789", "18446744073709551615", "3e47"])
    def test_keys_without_an_obvious_text_are_refused(self, key: str) -> None:
        assert place_of_error(f"a: 1\n{key}: v\n") == (2, 1)

    def test_a_template_is_reported_to_be_rendered(self) -> None:
        assert "render it first" in error_of("name: {{ .Values.name }}\n").message


class TestAliasesAndMerges:
    def test_an_alias_is_a_copy(self) -> None:
        both = value("a: &x {m: [1]}\nb: *x\n")
        both["a"]["m"].append(2)
        assert both["b"] == {"m": [1]}

    def test_an_alias_may_be_a_key_or_a_scalar(self) -> None:
        assert value("a: &k name\n*k : 1\nb: *k\n") == {"a": "name", "name": 1, "b": "name"}

    @pytest.mark.parametrize(
        ("text", "merged"),
        [
            ("<<: {x: 1}\nz: 2", {"x": 1, "z": 2}),
            ("<<: {x: 1}\nx: 2", {"x": 2}),
            ("x: 2\n<<: {x: 1}", {"x": 1}),
            ("<<: [{x: 1}, {x: 2, z: 3}]", {"x": 1, "z": 3}),
            ("<<: {x: 1}\n<<: {z: 2}", {"x": 1, "z": 2}),
            ("!!merge <<: {x: 1}", {"x": 1}),
            ('"<<": {x: 1}', {"<<": {"x": 1}}),
        ],
    )
    def test_merge_keys_take_mappings_in_as_kubernetes_does(self, text: str, merged: Any) -> None:
        assert value(text) == merged

    @pytest.mark.parametrize("wrong", ["5", "[5]", "", "[[{a: 1}]]"])
    def test_only_mappings_can_be_merged(self, wrong: str) -> None:
        assert error_of(f"a: 1\n<<: {wrong}\n").line == 2

    def test_merging_does_not_nest(self) -> None:
        levels = "".join(f"a{n}: &a{n} {{<<: *a{n - 1}, k: {n}}}\n" for n in range(1, MAX_DEPTH * 2))
        assert value(f"a0: &a0 {{k: 0}}\n{levels}")["a300"] == {"k": 300}

    def test_an_anchor_ends_with_its_document(self) -> None:
        assert place_of_error("a: &x 1\n---\nb: *x\n") == (3, 4)

    def test_an_alias_to_itself_is_an_error(self) -> None:
        error = error_of("a: &x\n  b: [*x]\n")
        assert (error.line, error.column) == (2, 7)
        assert "contains itself" in error.message


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


class QuotingDumper(yaml.SafeDumper):
    """Quotes every text, because PyYAML's plain `y` or `1e3` is text to itself only."""


QuotingDumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


class TestRoundTrips:
    @given(written=JSON)
    def test_yaml(self, written: Any) -> None:
        assert value(yaml.dump({"v": written}, Dumper=QuotingDumper)) == {"v": written}

    @given(written=JSON)
    def test_yaml_with_every_scalar_tagged(self, written: Any) -> None:
        assert value(yaml.safe_dump({"v": written}, default_style='"')) == {"v": written}

    @given(written=JSON, indent=st.sampled_from([None, 0, 2]), ascii_only=st.booleans())
    def test_json(self, written: Any, indent: int | None, ascii_only: bool) -> None:
        assert value(json.dumps({"v": written}, indent=indent, ensure_ascii=ascii_only)) == {"v": written}

    @given(written=st.dictionaries(st.text(min_size=1), JSON, min_size=1))
    def test_every_top_field_has_the_line_of_its_key(self, written: dict[str, Any]) -> None:
        lines = [json.dumps({key: member})[1:-1] for key, member in written.items()]
        [document] = documents("{\n" + ",\n".join(lines) + "}")
        found = [document.line_of(ROOT[key]) for key in written]
        assert found == list(range(2, len(written) + 2))


class TestFiles:
    def test_a_file_is_loaded_under_its_name(self, tmp_path: File) -> None:
        file = tmp_path / FILE
        file.write_text(JOB)
        [job] = load(str(file))
        assert (job.file, job.line) == (str(file), 2)

    def test_a_dash_is_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a: 1\n---\na: [\n")))
        stream = load("-")
        assert next(stream).file == "<stdin>"
        with pytest.raises(DocumentError, match=r"^<stdin>:"):
            next(stream)

    def test_standard_input_may_be_closed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", None)
        with pytest.raises(DocumentError, match=r"^<stdin>: cannot read file: standard input is closed$"):
            load("-")

    def test_a_directory_is_read_as_its_sorted_manifests_without_hidden_ones(self, tmp_path: File) -> None:
        for name in (
            "b.yaml",
            "a/z.yml",
            "a/b/c.json",
            "a.yaml",
            "notes.md",
            ".hidden.yaml",
            ".git/x.yaml",
            "a/.b/x.yaml",
        ):
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        names = [str(File(file).relative_to(tmp_path)) for file in discover([str(tmp_path)])]
        assert names == ["a/b/c.json", "a/z.yml", "a.yaml", "b.yaml"]

    def test_paths_keep_their_order_and_count_once(self, tmp_path: File) -> None:
        first, second = tmp_path / "1.yaml", tmp_path / "2.yaml"
        first.touch()
        second.touch()
        assert discover([str(second), "-", str(tmp_path), "-"]) == [str(second), "-", str(first)]

    def test_a_named_file_may_have_any_name(self, tmp_path: File) -> None:
        odd = tmp_path / ".jobs"
        odd.touch()
        assert discover([str(odd)]) == [str(odd)]

    def test_links_are_followed_and_a_directory_counts_once(self, tmp_path: File) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "real" / "job.yaml").touch()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        (tmp_path / "extra.yaml").symlink_to(tmp_path / "real" / "job.yaml")
        assert len(discover([str(tmp_path)])) == 2

    @pytest.mark.parametrize(
        ("path", "reason"),
        [
            ("missing.yaml", "no such file"),
            ("nul\0.yaml", "null byte"),
            ("empty", "no manifests"),
            ("pipe.yaml", "not a regular file"),
            ("pipes", "not a regular file"),
            ("self.yaml", "symbolic links"),
            ("loop", "symbolic link to a parent directory"),
            ("broken", "no such file"),
        ],
    )
    def test_a_path_that_is_no_manifest_is_one_clear_error(self, tmp_path: File, path: str, reason: str) -> None:
        for name in ("empty", "loop/inner", "broken", "pipes"):
            (tmp_path / name).mkdir(parents=True)
        (tmp_path / "loop" / "inner" / "up").symlink_to(tmp_path / "loop")
        (tmp_path / "self.yaml").symlink_to("self.yaml")
        (tmp_path / "broken" / "job.yaml").symlink_to("nowhere")
        os.mkfifo(tmp_path / "pipe.yaml")
        os.mkfifo(tmp_path / "pipes" / "pipe.yaml")
        with pytest.raises(DocumentError, match=reason) as raised:
            discover([str(tmp_path / path)])
        assert str(raised.value).isprintable()
        assert str(raised.value).startswith(str(tmp_path))

    @pytest.mark.parametrize("path", ["missing.yaml", "pipe.yaml", "", "nul\0.yaml", "two\nlines.yaml"])
    def test_loading_what_is_no_regular_file_is_one_clear_error(self, tmp_path: File, path: str) -> None:
        os.mkfifo(tmp_path / "pipe.yaml")
        with pytest.raises(DocumentError) as raised:
            load(str(tmp_path / path))
        assert str(raised.value).isprintable()

    def test_an_unreadable_file_is_one_clear_error(self, tmp_path: File, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> int:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "open", refuse)
        with pytest.raises(DocumentError, match=r"job\.yaml: cannot read file: permission denied$"):
            load(str(tmp_path / FILE))

    def test_an_unreadable_directory_is_one_clear_error(self, tmp_path: File, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> list[str]:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(os, "listdir", refuse)
        with pytest.raises(DocumentError, match=r"cannot read file: permission denied$"):
            discover([str(tmp_path)])
