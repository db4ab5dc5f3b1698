"""Controllers around the engine: watch events go in, decisions come out as writes to the API server."""
