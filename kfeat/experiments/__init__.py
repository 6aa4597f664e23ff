"""Experiments: a YAML file becomes a plan of trials, trials become rows."""
