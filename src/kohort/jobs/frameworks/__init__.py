"""The built-in frameworks, one small module each."""
