"""Request bodies in protobuf, as kubectl and Go clients send them, read into the JSON they stand for."""

from kohort.embedded.protobuf.decoding import MEDIA_TYPE, decode

__all__ = ["MEDIA_TYPE", "decode"]
