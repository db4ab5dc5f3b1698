"""The pages in docs/reference are those that the structs make, and read well."""

import re
from pathlib import Path

import pytest

from kohort.api.gates import WITHOUT_EFFECT, Gate
from kohort.api.kinds import all_kinds
from kohort.api.kueue.group import GROUP
from kohort.api.reference import main, pages

COMMITTED = Path(__file__).parents[2] / "docs" / "reference"
OTHERS = frozenset({"commands.md", "frameworks.md"})
"""Pages that the commands and the job frameworks write."""
PAGES = pages()
KIND_PAGES = {kind.info.singular: PAGES[f"{kind.info.singular}.md"] for kind in all_kinds(GROUP)}


def rows(page: str, heading: str) -> dict[str, list[str]]:
    """The table under a heading, by the first cell without its code marks."""
    part = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    cells = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in part.splitlines() if line.startswith("| `")]
    return {name.strip("`"): [cell.strip() for cell in rest] for name, *rest in cells}


def anchors(page: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page, re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_committed_pages_are_up_to_date(tmp_path: Path) -> None:
    """If this fails: `make docs`, and commit what it wrote."""
    main([str(tmp_path)])
    written, committed = ({file.name: file.read_text("utf-8") for file in at.iterdir()} for at in (tmp_path, COMMITTED))
    assert written == {name: text for name, text in committed.items() if name not in OTHERS}


def test_without_a_directory_it_reports_what_it_needs() -> None:
    with pytest.raises(SystemExit, match="DIRECTORY"):
        main([])


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", PAGES[name]):
        file, _, anchor = target.partition("#")
        if file.startswith("../"):
            assert (COMMITTED / file).is_file()
        else:
            assert not anchor or anchor in anchors(PAGES[file or name])


@pytest.mark.parametrize("name", PAGES)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(name: str) -> None:
    for table in re.findall(r"(?:^\|.*\n)+", PAGES[name], re.M):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


@pytest.mark.parametrize("name", PAGES)
def test_no_heading_occurs_twice(name: str) -> None:
    headings = re.findall(r"^#+ (.*)$", PAGES[name], re.M)
    assert sorted(set(headings)) == sorted(headings)


def test_the_index_leads_to_every_page() -> None:
    assert set(re.findall(r"\]\((\w[^)#]*\.md)\)", PAGES["README.md"])) == PAGES.keys() - {"README.md"} | OTHERS


def test_a_field_is_reported_with_type_need_default_limits_and_purpose() -> None:
    fields = rows(KIND_PAGES["clusterqueue"], "spec")
    assert fields["stopPolicy"] == [
        *("string", "", "`None`", "one of `None`, `Hold`, `HoldAndDrain`"),
        "Hold stops admission; HoldAndDrain also evicts admitted workloads.",
    ]
    assert fields["resourceGroups[]"][:4] == ["[list of object](#specresourcegroups)", "", "", "at most 16 items"]


def test_a_required_field_reports_it() -> None:
    assert rows(KIND_PAGES["cohort"], "spec.resourceGroups[]")["flavors[]"][1:4] == [
        *("yes", "", "1 to 64 items; unique by `name`"),
    ]


def test_an_object_that_occurs_twice_is_described_once() -> None:
    page = KIND_PAGES["clusterqueue"]
    assert "The same at `status.flavorsUsage[]`." in page
    assert "## status.flavorsUsage[]" not in page
    assert rows(page, "status")["flavorsUsage[]"][0] == "[list of object](#statusflavorsreservation)"


def test_rules_are_listed_under_their_object() -> None:
    """API-13, API-44"""
    assert "- borrowingLimit needs a cohort: set cohortName or remove the limit (API-13)" in KIND_PAGES["clusterqueue"]
    assert "- `levels`: each level of a topology has its own node label (API-44)" in KIND_PAGES["topology"]


def test_foreign_objects_are_named_and_not_described() -> None:
    assert rows(KIND_PAGES["workload"], "spec.podSets[]")["template"][0] == "PodTemplateSpec"
    assert "terminationGracePeriodSeconds" not in KIND_PAGES["workload"]


def test_a_renamed_field_is_missing_on_either_side() -> None:
    """API-73"""
    differences = rows(KIND_PAGES["clusterqueue"], "Differences in v1beta1")
    assert differences["spec.cohort"] == ["string", "—"]
    assert differences["spec.cohortName"] == ["—", "string"]


def test_a_looser_limit_of_v1beta1_is_reported() -> None:
    """API-75"""
    differences = rows(KIND_PAGES["clusterqueue"], "Differences in v1beta1")
    assert differences["status.conditions[]"] == ["no such limit", "at most 16 items"]
    assert differences["spec.admissionChecksStrategy.admissionChecks[]"] == [
        *("optional", "required; 1 to 64 items; unique by `name`"),
    ]
    assert differences["spec.flavorFungibility.whenCanBorrow"][0].startswith("one of `Borrow`")


def test_below_a_field_of_one_version_nothing_more_is_listed() -> None:
    differences = rows(KIND_PAGES["multikueuecluster"], "Differences in v1beta1")
    assert "spec.clusterSource" in differences
    assert not any(path.startswith("spec.clusterSource.") for path in differences)


def test_rules_of_the_whole_object_are_compared_too() -> None:
    """API-50, API-76"""
    before, after = rows(KIND_PAGES["workload"], "Differences in v1beta1")["(the object)"]
    assert "priorityClassSource can't be changed" in before
    assert "priorityClassRef can't be changed" in after
    assert "queueName" not in before + after


def test_a_kind_that_is_the_same_in_both_versions_reports_it() -> None:
    assert KIND_PAGES["resourceflavor"].endswith("## Differences in v1beta1\n\nNone.\n")


def test_the_configuration_has_a_page() -> None:
    page = PAGES["configuration.md"]
    assert rows(page, "leaderElection")["leaseDuration"][:3] == ["duration", "", "`15s`"]
    assert rows(page, "Differences in v1beta1")["waitForPodsReady.enable"] == ["boolean", "—"]


def test_every_gate_has_a_row() -> None:
    page = PAGES["feature-gates.md"]
    reported = re.findall(r"^\| `(\w+)` \| (on|off)", page, re.M)
    expected = {**{gate.name: gate.value.default for gate in Gate}, **WITHOUT_EFFECT}
    assert {name: state == "on" for name, state in reported} == expected
