"""Newton's method for linear classifiers in the primal."""
