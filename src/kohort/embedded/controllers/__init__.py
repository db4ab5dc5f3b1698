"""The built-in controllers of kube-controller-manager, sharing one set of informers.

Each is constructed as `X(client, informers)`; call `start()` after the informers have synced and `await stop()` at the
end.
"""
