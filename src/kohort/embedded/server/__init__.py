"""The API server: HTTP in front, one pipeline of named steps per request, the store behind."""
