"""Tests of the command line; a package, since its modules are named like those of the functions they call."""
