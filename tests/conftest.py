"""How long property tests search, and that tests hear Ctrl-C.

Moderately at the desk, the same bounded examples on every CI run; `--hypothesis-profile=thorough` searches longer.
"""

import os
import signal

from hypothesis import settings

settings.register_profile("dev", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, max_examples=50, derandomize=True, database=None, print_blob=True)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_configure() -> None:
    """Whoever runs the tests in the background has Ctrl-C ignored, and all that they start would have it so too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
