"""Ridge regression: from moments that are collected batch by batch, cross-validated, and on a kernel."""
