"""Figures: a line per method, or curves in panels."""
