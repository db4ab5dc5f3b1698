"""Offline validation of sets of manifests: errors that an API server would return, and warnings.

Errors come from the rules that apply to writes; warnings consider all objects together.
"""
