"""Texts of manifests and what is read from them."""

from typing import Any

import pytest

from kohort.api.documents import Document, read_documents
from kohort.api.errors import DocumentError

FILE = "job.yaml"

JOB = """\
# a job
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels:
    kueue.x-k8s.io/queue-name: user-queue
spec:
  parallelism: 4
  template:
    spec:
      containers:
      - name: worker
        args: [--fast,
               --far]
      - name: sidecar
"""


def documents(text: str | bytes) -> list[Document]:
    return list(read_documents(text.encode() if isinstance(text, str) else text, FILE))


def values(text: str | bytes) -> list[Any]:
    return [document.value for document in documents(text)]


def value(text: str | bytes) -> Any:
    [document] = documents(text)
    return document.value


def error_of(text: str | bytes) -> DocumentError:
    with pytest.raises(DocumentError) as raised:
        documents(text)
    error = raised.value
    assert str(error).isprintable(), "one line"
    assert str(error).startswith(FILE)
    assert len(str(error)) < 400
    return error


def place_of_error(text: str | bytes) -> tuple[int, int]:
    error = error_of(text)
    return error.line, error.column
