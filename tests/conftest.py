"""How long property tests search: moderately at the desk, the same bounded examples on every CI run.

`pytest --hypothesis-profile=thorough` searches longer.
"""

import os

from hypothesis import settings

settings.register_profile("dev", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, max_examples=100, derandomize=True, database=None, print_blob=True)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
