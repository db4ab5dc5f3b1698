"""Claims on devices: which of them can be counted against quota, and what they come to (API-124)."""
