"""Kinds of model serving (§20.6): KServe's InferenceService, KubeAI's Model, and the InferencePool of Gateway API."""
