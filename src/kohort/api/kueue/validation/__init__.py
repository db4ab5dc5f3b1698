"""The rules that upstream enforces by validating webhooks ([W] in docs/spec/api.md), on typed v1beta2 objects.

Schema and CEL rules are declared with the structs; these need arithmetic, label syntax or the old object.
"""
