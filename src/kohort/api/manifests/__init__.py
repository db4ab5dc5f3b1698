"""Offline validation of sets of manifests: errors that an API server would return, and warnings.

Errors come from the rules that apply to writes; warnings consider all objects together.
"""

from kohort.api.manifests.checking import Checker, ManifestReport
from kohort.api.manifests.codes import WarningCode
from kohort.api.manifests.findings import FindingSeverity, ManifestFinding

__all__ = ["Checker", "FindingSeverity", "ManifestFinding", "ManifestReport", "WarningCode"]
