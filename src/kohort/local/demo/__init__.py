"""The demonstration: two teams share quota on a cluster that exists only for it."""
