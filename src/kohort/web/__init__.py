"""What the manager serves besides webhooks: its health, its metrics, and who waits where (the visibility API)."""
