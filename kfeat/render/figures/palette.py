"""The colours, markers and dashes that tell methods apart; they are planned without matplotlib."""

from typing import Any

# Okabe and Ito's colours in an order whose lightness differs, so that grey prints keep them apart; black is
# the exact kernel SVM's.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
MARKERS = "os^vP<>X*p"  # the diamond is the paper's
DASHES: tuple[Any, ...] = ("-", "--", ":", "-.")
MORE_DASHES: tuple[Any, ...] = ((0, (6, 1, 1, 1, 1, 1)), (0, (8, 3)))  # where there are many lines
