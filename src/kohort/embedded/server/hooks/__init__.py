"""Post-start and post-commit hooks: bootstrap objects, CRDs, aggregated ClusterRoles, event expiration."""
