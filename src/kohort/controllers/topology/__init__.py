"""Controllers for topology-aware scheduling: nodes and pods for the engine, and detection of failed nodes."""
