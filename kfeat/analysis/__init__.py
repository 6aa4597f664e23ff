"""From rows to numbers: cells, statistics, claims and verdicts; no drawing."""
