"""Datasets: registry, download, formats, scaling and splits."""
