"""What users write: every kind as one typed struct, and all that follows from it."""
