"""Who may ask, and what they may do: certificates, tokens, RBAC, reviews."""
