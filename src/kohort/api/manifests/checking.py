"""Checks a set of manifests: each document, then all of them together.

A document is dropped after its check, so that memory depends on the number of objects and not on their size.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kohort.api.config.v1beta2 import Configuration
from kohort.api.documents import Document, discover, load
from kohort.api.errors import DocumentError
from kohort.api.gates import FeatureGates
from kohort.api.manifests.examination import examine
from kohort.api.manifests.findings import FindingSeverity, ManifestFinding, refused, unreadable, warning
from kohort.api.manifests.inventory import Inventory
from kohort.api.manifests.job_warnings import JOB_CHECKS
from kohort.api.manifests.origins import mention_of, origin_of
from kohort.api.manifests.queue_warnings import QUEUE_CHECKS

_SEVERITIES = tuple(FindingSeverity)


@dataclass(frozen=True, slots=True)
class ManifestReport:
    """The findings, in the order of the files and their lines."""

    objects: int
    findings: list[ManifestFinding]

    def count(self, severity: FindingSeverity) -> int:
        """The number of findings of this severity."""
        return sum(finding.severity is severity for finding in self.findings)

    def without(self, codes: Collection[str]) -> "ManifestReport":
        """The report without findings of these codes."""
        return ManifestReport(self.objects, [finding for finding in self.findings if finding.code not in codes])


class Checker:
    """Checks documents, then reports."""

    def __init__(self, gates: FeatureGates) -> None:
        self._gates = gates
        self._given = Inventory()
        self._findings: list[ManifestFinding] = []
        self._files: dict[str, int] = {}
        self._objects = 0

    def read(self, documents: Iterable[Document]) -> None:
        """Check the objects of one file; a file that cannot be read completely is a finding too."""
        try:
            for document in documents:
                self._check(document)
        except DocumentError as error:
            self._note(unreadable(error))

    def read_paths(self, paths: Sequence[str]) -> None:
        """Check all manifests of the paths, each file once."""
        seen: set[str] = set()
        for path in paths:
            try:
                files = discover([path])
            except DocumentError as error:
                self._note(unreadable(error))
                continue
            for file in files:
                if os.path.realpath(file) not in seen:
                    self.read(_documents(file))
                seen.add(os.path.realpath(file))

    def report(self) -> ManifestReport:
        """All findings, including warnings about the objects together."""
        findings = sorted([*self._findings, *self._warnings()], key=self._order)
        return ManifestReport(self._objects, findings)

    def _check(self, document: Document) -> None:
        origin = origin_of(document)
        self._files.setdefault(origin.file, len(self._files))
        examined = examine(document, origin, self._gates)
        self._objects += 1
        self._given.add(origin)
        for error in examined.errors:
            self._note(refused(origin, error, document.line_of(error.path)))
        for remark in examined.remarks:
            self._note(warning(origin, mention_of(document, remark.path), remark.code, remark.message))
        if isinstance(examined.facts, Configuration):
            self._given.configuration = examined.facts
        elif examined.facts is not None:
            self._given.add_facts(examined.facts)

    def _warnings(self) -> Iterator[ManifestFinding]:
        for check in QUEUE_CHECKS:
            yield from check(self._given)
        for job in self._given.submissions:
            for job_check in JOB_CHECKS:
                yield from job_check(job, self._given)

    def _note(self, finding: ManifestFinding) -> None:
        self._files.setdefault(finding.origin.file, len(self._files))
        self._findings.append(finding)

    def _order(self, finding: ManifestFinding) -> tuple[int, int, int, str, str]:
        file = self._files[finding.origin.file]
        return file, finding.line, _SEVERITIES.index(finding.severity), finding.field, finding.message


def _documents(file: str) -> Iterator[Document]:
    """The objects of the file; unlike `load`, it raises during iteration only."""
    yield from load(file)
