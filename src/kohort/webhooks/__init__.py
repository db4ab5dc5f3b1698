"""The admission and conversion webhooks: the rules of `api` and `jobs`, asked by an API server over HTTPS."""
