"""A small experiment on the bundled digits, quick enough for every test."""

SMALL = """\
title: Digits, small
dataset: digits
protocol: {scale: {divide: 16}, split: {kind: sample, n_train: 300, n_test: 200, seed: 0}}
kernel: {name: polynomial, degree: 2, coef0: 1}
maps:
  - {name: tensor_sketch, n_components: 64}
  - {name: random_maclaurin, n_components: 64}
solvers:
  mapped: {name: liblinear, C: 1}
  exact: {name: libsvm, C: 1}
repeats: 2
"""
