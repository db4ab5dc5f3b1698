"""What one of several test processes plays as a whole: most files play something long once, for all of their tests."""

SHARE_NOTHING = frozenset(
    {
        "tests/cluster/test_generated_writes.py",
        "tests/docs/from_a_clone.py",
        "tests/docs/pages_with_kubectl.py",
        "tests/examples/examples_with_kubectl.py",
    }
)
"""Files whose tests are independent, so that each is sent to an idle process."""


def share_of(test: str) -> str:
    """The file of a test, or the test itself."""
    file = test.partition("::")[0]
    return test if file in SHARE_NOTHING else file
