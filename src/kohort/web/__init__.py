"""The manager's servers besides webhooks: health probes, metrics and the visibility API."""
