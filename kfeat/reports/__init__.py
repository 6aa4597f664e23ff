"""Reports: rows become tables, figures and verdicts."""
