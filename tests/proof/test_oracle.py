"""The oracle: it tries every combination once, and refuses runs that are too long or depend on what outlives them."""

from itertools import product

import pytest

from npi.proof import oracle as module
from npi.proof.oracle import CONCRETE_ONLY, INCONSISTENT, OBSERVE_CHANGES, TOO_MANY, Oracle, Refused


def test_every_combination_is_tried_once_in_order():
    oracle = Oracle()
    assert oracle.outcomes(lambda: (oracle.choose(2), oracle.choose(3))) == [*product(range(2), range(3))]
    assert oracle.outcomes(lambda: [oracle.choose(2) for _ in range(3)]) == [
        [*one] for one in product(range(2), repeat=3)
    ]
    assert oracle.outcomes(lambda: 7) == [7]
    assert not oracle.enabled


def test_one_option_is_no_choice():
    oracle = Oracle()
    assert oracle.outcomes(lambda: (oracle.choose(1), len(oracle.choices))) == [(0, 0)]


@pytest.mark.parametrize(("choices", "allowed"), [(200, True), (201, False)])
def test_the_choices_of_one_step_are_limited(choices, allowed):
    oracle = Oracle()
    assert module.MAX_CHOICES == 200

    def run():
        for _ in range(choices):
            oracle.choose(2)

    if allowed:
        run()
    else:
        with pytest.raises(Refused, match="asks more of its tapes than a proof can try"):
            run()


@pytest.mark.parametrize(("outcomes", "allowed"), [(10, True), (11, False)])
def test_the_outcomes_of_one_step_are_limited(monkeypatch, outcomes, allowed):
    monkeypatch.setattr(module, "MAX_OUTCOMES", 10)
    oracle = Oracle()
    if allowed:
        assert oracle.outcomes(lambda: oracle.choose(outcomes)) == [*range(outcomes)]
    else:
        with pytest.raises(Refused, match="asks more"):
            oracle.outcomes(lambda: oracle.choose(outcomes))
        assert oracle.choices == []  # refused at once
        assert oracle.refusal == TOO_MANY
        with pytest.raises(Refused, match="asks more"):
            oracle.outcomes(lambda: (oracle.choose(2), oracle.choose(6)))


def test_a_run_that_makes_fewer_choices_when_repeated_is_refused():
    """Those before the last are the same, so they must be made again."""
    oracle, left = Oracle(), [3, 3, 0]
    with pytest.raises(Refused, match="differently when it is repeated"):
        oracle.outcomes(lambda: [oracle.choose(2) for _ in range(left.pop(0))])
    assert oracle.refusal == INCONSISTENT
    oracle, left = Oracle(), [2, 1]
    with pytest.raises(Refused, match="differently when it is repeated"):
        oracle.outcomes(lambda: [oracle.choose(2) for _ in range(left.pop(0))])


def test_a_run_that_makes_other_choices_when_repeated_is_refused():
    oracle, options = Oracle(), [2, 3]
    with pytest.raises(Refused, match="differently when it is repeated"):
        oracle.outcomes(lambda: (oracle.choose(options.pop(0)), oracle.choose(2)))
    assert not oracle.enabled  # whatever ends the runs


def test_the_first_refusal_is_kept():
    oracle = Oracle()
    for why in ("first", "second"):
        with pytest.raises(Refused, match=why):
            oracle.refuse(why)
    assert oracle.refusal == "first"


def test_tapes_answer_while_enabled_and_change_while_not_observed():
    oracle = Oracle()
    oracle.check_enabled()
    oracle.check_acting()
    oracle.observing = True
    oracle.check_enabled()
    with pytest.raises(Refused, match="observe changes"):
        oracle.check_acting()
    assert oracle.refusal == OBSERVE_CHANGES
    oracle = Oracle()
    oracle.enabled = False
    for check in (oracle.check_enabled, oracle.check_acting):
        with pytest.raises(Refused, match="only observe and act may use"):
            check()
    assert oracle.refusal == CONCRETE_ONLY.format("only observe and act may use tapes and graphs")
    with pytest.raises(Refused, match="can be copied"):
        oracle.refuse_copy()
