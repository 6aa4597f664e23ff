from kfeat.analysis.cells import error_of, summarise
from kfeat.analysis.judgement import judge_experiment
from kfeat.analysis.statistics import KNOWN, Summary
from kfeat.experiments.config import load_experiment
from kfeat.render.notes import cautions, closing_line, notes
from kfeat.render.report import records
from tests.cells import cells_with, fake_row

MACHINE = {"processor": "Abacus", "cores": 2, "system": "Linux", "python": "3.11.7"}


def made_by(commit, liblinear="2.50.0"):
    return {**MACHINE, "commit": commit, "packages": {"kfeat": "0.1.0", "liblinear-official": liblinear}}


def test_one_line_per_machine_names_every_version_of_kfeat(experiment, trials):
    environments = [made_by("b1"), made_by("a0"), made_by("b1"), made_by(None), made_by("a0", "2.47.0")]
    made = {t.id: fake_row(t, 0.8, environment=one) for t, one in zip(trials, environments, strict=False)}
    cells = summarise(experiment, trials, made)
    assert [line for line in notes(experiment, cells) if line.startswith("run on")] == [
        "run on: Abacus, 2 cores, Linux, Python 3.11.7, liblinear-official 2.47.0; kfeat a0.",
        "run on: Abacus, 2 cores, Linux, Python 3.11.7, liblinear-official 2.50.0; kfeat 0.1.0, a0, b1.",
    ]


def test_a_table_with_times_of_two_machines_says_which_are_whose(experiment):
    """A speed-up of one machine over another is not passed over in silence."""

    def said(machines, **more):
        """What is said where the i-th trial of each cell, and of the exact machine, ran on these."""

        def row(trial):
            machine = machines[trial.repeat if trial.map else -1]
            environment = made_by("a0") | {"processor": machine}
            return fake_row(trial, 0.8, environment=environment, **more) if machine else None

        found = cautions(experiment, cells_with(experiment, row))
        return [line for line in found if "machine" in line and "busy" not in line]

    assert said(["Abacus"] * 6) == []
    advice = "A ratio of times from different machines compares these too, not the methods alone."
    assert said(["Abacus"] * 5 + ["Zuse"]) == [
        "different machines: the seconds were taken of 'exact, LIBSVM' on Zuse, 2 cores, Linux; of all "
        f"others on Abacus, 2 cores, Linux. {advice}"
    ]
    assert said(["Abacus"] * 5 + ["Zuse"], timed=False) == said(["Abacus"] * 5 + ["Zuse"])
    assert said(["Abacus", "Zuse", "", "", "", ""]) == [
        "different machines: the seconds were taken of all on Abacus, 2 cores, Linux and on Zuse, 2 cores, "
        f"Linux. {advice}"
    ]


def test_a_table_with_times_of_several_threads_or_memory_modes_says_which_are_whose(experiment):
    def said(**of_exact):
        def row(trial):
            more = of_exact if trial.exact else {}
            return fake_row(trial, 0.8, **more)

        found = cautions(experiment, cells_with(experiment, row))
        return [line for line in found if line.startswith("different")]

    assert said() == []
    assert said(threads=2) == [
        "different numbers of threads: the seconds were taken of 'exact, LIBSVM' with 2 threads; of all "
        "others with 1 thread. A ratio of times from different numbers of threads compares these too, not "
        "the methods alone."
    ]
    (line,) = said(memory="out_of_core")
    assert "of 'exact, LIBSVM' out of core; of all others in core." in line


def test_a_table_names_the_kernel_caches_that_differ_on_the_same_data(write):
    experiment = load_experiment(write(), ["kernel.degree=[2, 3]"], maps=["exact"])

    def said(*sizes):
        def row(trial):
            size = sizes[trial.kernel.parameters["degree"] - 2]
            return fake_row(trial, 0.8, solve={"converged": True, "cache_mb": size})

        return [line for line in cautions(experiment, cells_with(experiment, row)) if "cache" in line]

    assert said(7018.0, 7018.0) == []
    assert said(7018.0, None) == []
    (line,) = said(7018.0, 11664.0)
    assert line.startswith("different kernel caches: ")
    assert line.count("7,018 MB") == line.count("11,664 MB") == 1


def test_every_reason_of_a_failure_is_told_once(experiment, trials, make_rows):
    rows = make_rows([0.8] * 4)
    for row, reason in zip(
        rows.values(), ["it ran out of memory", "it was killed", "it ran out of memory"], strict=False
    ):
        row.update(status="failed", reason=reason)
    cells = summarise(experiment, trials, rows)
    assert [line for line in notes(experiment, cells) if line.startswith("failed")] == [
        "failed: Tensor Sketch: it ran out of memory; it was killed"
    ]


def test_equal_repeats_of_an_exact_machine_are_one_score_and_several_times(write):
    experiment = load_experiment(write(), ["exact_repeats=3"])

    def row(trial):
        return fake_row(trial, 0.7939, seconds={"train": {"cpu": 1.0 + trial.repeat, "wall": 9.0}})

    exact, sketch, _ = cells = cells_with(experiment, row)
    assert exact.score == Summary(79.39, None, 1)
    assert exact.of("train") == Summary(2.0, 1.0, 3)
    assert error_of(exact) == KNOWN
    assert sketch.score == Summary(79.39, 0.0, 2)
    found = records(experiment, cells)[0]
    assert (found["accuracy (%)"], found["runs"]) == ("79.39", "3/3")
    assert not any("draw nothing" in line for line in cautions(experiment, cells))


def test_a_stopped_trial_alone_is_something_to_judge_and_its_machine_is_named(experiment, trials):
    end = {"status": "stopped", "reason": "too long", "limit_s": 90.0}
    row = fake_row(trials[-1], 0.8, environment=made_by("c2")) | end
    cells = summarise(experiment, trials, {row["id"]: row})
    assert notes(experiment, cells)[-1].endswith("; kfeat c2.")
    judgement = judge_experiment(experiment, cells, {})
    assert judgement.has_rows
    assert judgement.passes
    assert judgement.seconds == 90


def test_the_best_map_is_compared_with_the_exact_svm(make_cells):
    line = closing_line(make_cells([0.85, 0.87], exact=0.88))
    assert line == (
        "Tensor Sketch: accuracy 86.00 % where exact, LIBSVM has 88.00 %; mapping and training have a "
        "speed-up of 0.333×."
    )
    assert "of ~0.333×" in (closing_line(make_cells([0.85], timed=False)) or "")
    for cells in (make_cells([0.85], exact=None), make_cells([], exact=0.9), []):  # nothing to compare
        assert closing_line(cells) is None
