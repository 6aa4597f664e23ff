"""A process that is asked, and ended at a deadline."""

from multiprocessing import active_children
from time import monotonic

from kfeat.own.candidates import Candidate
from kfeat.own.scorer_process import ScorerProcess
from tests.own.asking import small


def test_a_process_answers_fails_and_is_ended_at_a_deadline(tmp_path):
    setup = small(tmp_path)
    assistant = ScorerProcess(1, **setup.scorer(0))
    try:
        facts = assistant.ask("facts", monotonic() + 100)
        assert facts["n_train"] == 96
        wrong = Candidate("own", {"name": "linear"}, {"name": "orf"}, "squared_hinge")
        answer = assistant.ask("score", monotonic() + 100, candidate=wrong, n=90, values=[1.0])
        assert "orf" in answer["failed"].lower()
        for child in active_children():
            child.kill()  # as the system does where memory runs out
        assert "memory ran out" in assistant.ask("facts", monotonic() + 100)["failed"]
        assert repr(assistant.ask("facts", monotonic() + 100)) == repr(facts)  # NaN is not equal to itself
        slow = Candidate("own", {"name": "linear"}, {"name": "nystrom", "n_components": 90}, "logistic")
        began = monotonic()
        values = [2.0**k for k in range(1000)]
        assert assistant.ask("score", began + 0.002, candidate=slow, n=96, values=values) is None
        assert monotonic() - began < 10
    finally:
        assistant.end()
