"""Measurements, each as a ratio to a baseline of the same run: these machines are noisy, ratios are not."""
