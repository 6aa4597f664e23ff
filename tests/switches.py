"""A small experiment of two settings on the digits, with switches of every kind and printed numbers."""

SWITCHED = """\
title: Digits, two settings
dataset: digits
kernel: {name: polynomial, degree: 2, coef0: [0, 1]}
solvers:
  mapped: [{name: liblinear, C: 1}, {name: newton, C: 1}]
  exact: {name: libsvm, C: 1}
settings:
  - protocol: {scale: {divide: 16}, split: {kind: sample, n_train: 300, n_test: 200, seed: 0}}
    maps:
      - {name: tensor_sketch, n_components: 32}
      - {name: random_maclaurin, n_components: 32, degree_law: geometric}
  - protocol: {scale: none, split: {kind: sample, n_train: 300, n_test: 200, seed: 0}}
    maps:
      - {name: random_maclaurin, n_components: 32, degree_law: [truncated, proportional]}
repeats: 3
switches:
  - {key: protocol.scale, status: inferred, evidence: it fits the table}
  - {key: map.degree_law, status: known, evidence: the authors' code}
  - {key: solver.C, status: open, evidence: not printed}
  - {key: solver.libsvm.eps, status: inferred, evidence: the default}
  - {key: map.domain, status: known, evidence: section 3}
  - {key: solver version, status: known, evidence: section 6, value: LIBLINEAR 1.92}
  - {key: measure.n_rows, status: open, evidence: not printed}
reported:
  source: A Paper
  runs: 5
  numbers:
    - {for: {map: exact, kernel.coef0: 1}, mean: 99, where: Table 1}
    - for: {map: tensor_sketch, solver: liblinear, solver.C: 1, kernel.coef0: 1}
      mean: 90
      sd: 1
      where: Table 1
    - for: {map.degree_law: geometric, solver: liblinear, kernel.coef0: 1}
      mean: 80
      sd: 0.1
      where: Table 1
"""
