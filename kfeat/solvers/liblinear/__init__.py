"""LIBLINEAR: its estimator, its C interface, what its log tells, and -s 1 as it was before 2.42."""
