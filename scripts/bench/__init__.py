"""Benchmarks: kfeat beside what people use now, in one run, as ratios. Run with `make bench`."""
