"""The shell round the engine: watches feed events in, decisions go out as writes to the API."""
