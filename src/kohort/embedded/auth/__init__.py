"""Authentication and authorization: certificates, tokens, RBAC, reviews."""
