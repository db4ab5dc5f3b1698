"""Checks on whole sets of manifests, offline: what an API server would refuse, and what will not do as it is meant.

Errors come from the very rules that a write meets; warnings look at the objects together.
"""

from kohort.api.manifests.checking import Checker, Report
from kohort.api.manifests.codes import Code
from kohort.api.manifests.findings import Finding, Severity

__all__ = ["Checker", "Code", "Finding", "Report", "Severity"]
