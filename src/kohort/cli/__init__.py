"""The `kohort` commands: thin layers over the other packages."""
