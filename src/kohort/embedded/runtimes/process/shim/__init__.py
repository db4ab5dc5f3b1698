"""The shim process of a pod. Standard library only, and little of it: one runs beside every pod."""
