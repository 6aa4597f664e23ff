"""A kernel SVM by working sets, whose kernel rows are blocks of matrix products."""
