"""What Kohort counts and measures, as Prometheus reads it: a small registry of our own, and Kueue's series in it."""

from kohort.metrics.kueue import KueueMetrics
from kohort.metrics.registry import MetricsRegistry

__all__ = ["KueueMetrics", "MetricsRegistry"]
