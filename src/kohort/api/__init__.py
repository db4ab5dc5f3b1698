"""API kinds as typed structs, and everything derived from them: schemas, CRDs, validation, conversion."""
