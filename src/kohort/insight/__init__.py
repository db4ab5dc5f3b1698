"""What can be told of a cluster by one look at it: a snapshot over the API, and answers by the functions that decide.

Works on any cluster with Kueue's kinds, whoever manages it, and writes nothing.
"""
