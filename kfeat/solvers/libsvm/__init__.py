"""LIBSVM: its estimator, kernels as it takes them, and its models as arrays."""
