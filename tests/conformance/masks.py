"""Masks for what always differs between two servers: UIDs, times, revisions, addresses.

Masks work on text, so that tables, YAML, JSON and messages are treated alike.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mask:
    """A pattern and its replacement."""

    pattern: str
    name: str

    def apply(self, text: str) -> str:
        """The text with every match replaced; `\\1` keeps a group."""
        return re.sub(self.pattern, self.name, text, flags=re.MULTILINE)


_DURATION = r"(?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+(?:\.\d+)?(?:m|µ)?s)?"

ALWAYS = (
    Mask(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", "<uid>"),
    Mask(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| [+-]\d{4})?", "<time>"),
    Mask(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "<time>"),
    Mask(r'("?(?:resourceVersion|ResourceVersion|Resource Version)"?: *)"?\d+"?', r"\1<revision>"),
    Mask(r"(Too large resource version: \d+, current: )\d+", r"\1<revision>"),
    Mask(r'("?continue"?: *)"[^"]+"', r"\1<continue>"),
    Mask(r"127\.0\.0\.1:\d+", "<server>"),
    Mask(r"\b10\.0\.\d+\.\d+\b", "<address>"),
    Mask(r"eyJ[\w-]+\.[\w-]+\.[\w-]+", "<token>"),
    Mask(rf"(?<=\s)(?=\d){_DURATION}(?= ago|\s|$)", "<age>"),
    Mask(r'(?<=")(?=\d)(?:\d+[smhd]){1,2}(?=")', "<age>"),
    Mask(r"X509SHA256=[0-9a-f]{64}", "<credential>"),
    Mask(r"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----", "<certificate>"),
    Mask(r"(?<!\S)/(?:[\w.-]+/)*(LIVE|MERGED)-\d+", r"\1"),
    # These lines depend on the timing of the client that gives up.
    Mask(r"^[IWE]\d{4} \S+ +\d+ reflector\.go:\d+\] .*(?:very short watch|context deadline exceeded).*\n", ""),
    Mask(r"(?<=\S) {2,}", "  "),
)


def masked(text: str, masks: tuple[Mask, ...]) -> str:
    """The text with all masks applied."""
    for mask in (*masks, *ALWAYS):
        text = mask.apply(text)
    return text
