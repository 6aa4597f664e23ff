"""Explicit feature maps: scikit-learn transformers Z with <Z(x), Z(y)> close to k(x, y)."""
