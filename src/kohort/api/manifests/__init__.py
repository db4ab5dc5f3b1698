"""Checks on whole sets of manifests, offline: what an API server would refuse, and what will not do as it is meant.

Errors come from the very rules that a write meets; warnings look at the objects together.
"""

from kohort.api.manifests.checking import Checker, ManifestReport
from kohort.api.manifests.codes import Code
from kohort.api.manifests.findings import FindingSeverity, ManifestFinding

__all__ = ["Checker", "Code", "FindingSeverity", "ManifestFinding", "ManifestReport"]
