"""Shared test harness: servers, builders, faults, time and commands; tests/README.md lists what each test uses."""
