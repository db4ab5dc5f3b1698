"""Nodes as a kubelet would keep them: declared, registered, their pods run by a runtime and reported to the API."""
