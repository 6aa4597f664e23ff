"""Solvers: LIBLINEAR, LIBSVM and their kin behind one small contract."""
