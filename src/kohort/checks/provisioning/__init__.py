"""The ProvisioningRequest check: an autoscaler provides nodes for a workload before it is admitted (MK-17 to MK-31)."""
