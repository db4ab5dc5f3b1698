"""Permanent differences, each with the row of docs/embedded-differences.md that justifies it.

A difference masks exactly what differs; the rest of a response must still match. A difference that no longer occurs
fails its test.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """A pattern for the differing part of a response."""

    row: str
    """The name in the first column of the table."""
    pattern: str

    def masked(self, text: str) -> str:
        """The text without the differing part."""
        return re.sub(self.pattern, "", text, flags=re.MULTILINE | re.DOTALL)


_ENTRY = r'^  \{\n   "kind": "\w+",\n   "name": "(?:%s)",\n.*?\n  \},?\n'

VERSION = Difference("version", r"v?1\.37\.\d+(?:\+kohort)?")
UNSERVED_VERSIONS = Difference(
    "kinds", r"^(?:autoscaling|flowcontrol\.apiserver\.k8s\.io|storagemigration\.k8s\.io)/v1\n"
)
_UNSERVED = (
    "clustertrustbundles|componentstatuses|csidrivers|csinodes|csistoragecapacities|devicetaintrules|flowschemas"
    "|ipaddresses|mutatingadmissionpolicies|mutatingadmissionpolicybindings|podcertificaterequests|prioritylevelconfigurations"
    "|servicecidrs|storageversionmigrations|volumeattachments|volumeattributesclasses"
)
UNSERVED_KINDS = Difference("kinds", rf"^(?:{_UNSERVED})[ .\n][^\n]*\n?")
PRINTER_COLUMNS = Difference("printer columns", r".*")
UNSERVED_ENTRIES = Difference("kinds", _ENTRY % "componentstatuses")
OLD_AUTOSCALERS = Difference("kinds", r"^exit.*")
STREAMS = Difference(
    "streams",
    _ENTRY % "(?:nodes|pods|services)/proxy|pods/(?:attach|ephemeralcontainers|exec|portforward|resize)",
)
STORAGE_HASHES = Difference("storage hashes", r'^   "storageVersionHash": "[^"]+",\n')
ENUMS = Difference(
    "enums", r"^ *enum: [^\n]*\n?|^ENUM:\n(?:    \w+\n)+|^ +\n +Possible enum values:\n(?: +[^\n]*\n?)+|^\n(?=\n)"
)
OPENAPI_V2 = Difference("openapi v2", r"^exit.*")
SELECTOR_WORDS = Difference("parsing", r'(?<=field selector "": )[^\n]*')
SERVICE_PORT = Difference("service port", r"(?<=targetPort: )\d+")
OLD_GROUPS = Difference("old groups", r"^  [\w./]*\.extensions[\w/]* [^\n]*\n")
NULLS = Difference("nulls", r"^ *(?:eventTime|currentMetrics): null\n|,\n *\"object\": null")
PRINTED_OBJECTS = Difference(
    "printed objects", r"(?:spec\.template(?:\.spec)?): Invalid value: \{.*(?=: field is immutable)"
)
PRINTED_PATCH = Difference("printed objects", r"(?<=patch: Invalid value: ).*(?=: json: cannot)")
PRINTED_RULE = Difference(
    "printed objects", r'(?<=rule: Invalid value: )(?:\{.*?\}|"self\.nothing")(?=: compilation failed)'
)
PRINTED_VERSIONS = Difference(
    "printed objects",
    r"\* (?=spec\.versions)|(?<=invalid: )\n|(?<=Invalid value: )\[.*?\](?=: must)|\* status\.stored[^\n]*\n?",
)
LONG_VALUES = Difference("long values", r'"x{50,}(?:"| \.\.\.)')
PARSING = Difference("parsing", r"(?<=BadRequest\): ).*")
WATCH_POSITION = Difference("watch position", r"(?: \(BadRequest\): invalid resource version)?: (?=resourceVersion)")
NOT_READY_TAINT = Difference(
    "not-ready taint",
    r"^  taints:\n  - effect: NoSchedule\n    key: node\.kubernetes\.io/not-ready\n|^Taints: [^\n]*\n",
)
IMPERSONATION = Difference("impersonation", r"(?<=\(Forbidden\): ).*")
RULES = Difference("list of rights", r"(?<=\[)[a-z]+(?: [a-z]+)+(?=\])|^[^\n]*(?:clustertrustbundles|openid)[^\n]*\n")
TOKEN_VOLUME = Difference(
    "token volume",
    r"^    volumeMounts:\n    - mountPath: /var/run/secrets.*?readOnly: true\n|^  volumes:\n.*(?=^status:)",
)
STORAGE = Difference(
    "storage protection",
    r"^  finalizers:\n  - kubernetes\.io/pvc?-protection\n|^  lastPhaseTransitionTime: [^\n]*\n|^Finalizers: [^\n]*\n",
)
OLD_ENDPOINTS = Difference("old endpoints", r"^stderr:\nWarning: v1 Endpoints is deprecated[^\n]*\n")
PAGES = Difference("parsing", r'(?<=continue key is not valid: )[^\n"]*')
COLUMNS = Difference("columns", r'(?<="description": )"[^\n]*",$')
MEDIA_TYPES = Difference("media types", r'^  "details": \{\},\n|(?<="message": )"[^\n]*",$')
METADATA_OF_LISTS = Difference("media types", r"^exit.*")
PRINTED_MERGE = Difference("printed objects", r"(?<=Invalid value: ).*?(?=: json: cannot)")
ADMIN = Difference("administrator", r'(?<="username": )"[a-z-]+"')
TOKEN_REVIEW = Difference("reviews", r'(?<="metadata": )\{.*?\}(?=,\n  "spec")|: not a token')
TEMPLATE_FIELDS = Difference(
    "template fields", r"(?<=is invalid: )\n\* metadata\.labels[^\n]*\n\* (?=spec)|(?<=spec\.template)\.metadata"
)
