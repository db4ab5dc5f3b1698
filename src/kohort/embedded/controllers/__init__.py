"""The controllers that a control plane has built in, each on one shared set of informers.

Each is made as `X(client, informers)`; `start()` is for when the informers are live, `await stop()` ends it.
"""
