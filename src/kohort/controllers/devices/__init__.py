"""Device claims: which of them can be counted against quota, and the counted amounts (API-124)."""
