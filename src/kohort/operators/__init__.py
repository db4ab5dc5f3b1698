"""Stand-ins for the operators of custom job kinds, for clusters of this machine."""
