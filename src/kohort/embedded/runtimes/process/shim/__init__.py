"""The process that cares for one pod. Standard library only, and little of it: one runs beside every pod."""
