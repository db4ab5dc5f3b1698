"""Prometheus metrics: a small registry, and Kueue's series in it."""

from kohort.metrics.kueue import KueueMetrics
from kohort.metrics.registry import MetricsRegistry

__all__ = ["KueueMetrics", "MetricsRegistry"]
