"""Kubeflow's kinds: jobs of the Training Operator, of the MPI Operator and of Kubeflow Trainer."""
