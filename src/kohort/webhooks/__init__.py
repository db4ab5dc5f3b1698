"""The admission and conversion webhooks: the rules of `api` and `jobs`, served to API servers over HTTPS."""
