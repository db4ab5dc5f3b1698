"""The API server: HTTPS listener, request routing, handlers and storage; the embedded equivalent of kube-apiserver."""
