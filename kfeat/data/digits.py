"""The digits bundled with scikit-learn: real data that needs no download."""

from kfeat.data.formats import Contents
from kfeat.data.models import Part, as_labels


def digits() -> Contents:
    """Return 1,797 digits of 8 x 8 pixels in 0..16 and their classes 0..9, as the part "train"."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Contents({"train": Part(X, as_labels(y))}, "classification")
