"""Protobuf request bodies of kubectl and Go clients, decoded to JSON."""

from kohort.embedded.protobuf.decoding import MEDIA_TYPE, decode

__all__ = ["MEDIA_TYPE", "decode"]
