"""Figures, each as a ratio to a peer measured in the same run: these machines are noisy, ratios are not."""
