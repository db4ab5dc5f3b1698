"""The manager's configuration file: read strictly, defaulted, converted to v1beta2, validated."""
