"""Bodies in and out: decoding, content negotiation, version conversion, serialization and responses."""
