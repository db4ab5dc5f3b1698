"""The codes of warnings are stable and explained."""

import re
from pathlib import Path

from kohort.api.manifests.codes import WarningCode

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "validate.md"


def test_every_code_has_its_row_in_the_how_to_and_no_other_has() -> None:
    assert re.findall(r"^\| (W\d{3}) \|", PAGE.read_text(encoding="utf-8"), re.M) == [
        code.value for code in WarningCode
    ]
