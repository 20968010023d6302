"""Baselines: laid out as the paper's appendix says, and able to learn."""

import itertools
from random import Random

import numpy as np
import pytest
import torch

from npi.evaluation import baselines
from npi.evaluation.baselines import (  # fmt: skip
    BASELINES,
    END,
    NOTHING,
    Aligned,
    FitConfig,
    Seq2Seq,
    Transformer,
    X,
    batch_of,
    easy,
    fit,
    plain,
    reversed_plain,
    right,
    sorting,
    stacked,
)

NINETY = ("90", "160")


def test_layouts_are_those_of_the_appendix():
    assert plain(NINETY) == ([(9,), (0,), (X,), (1,), (6,), (0,), (X,)], [2, 5, 0, END])
    assert stacked(NINETY).target == [X, X, X, X, 2, 5, 0]
    assert [first for first, _ in stacked(NINETY).source] == [0, 9, 0, X, X, X, X]
    assert [second for _, second in stacked(NINETY).source] == [0, 6, 1, X, X, X, X]
    assert easy(NINETY) == ([(0, 0), (9, 6), (0, 1)], [0, 5, 2])
    assert reversed_plain(NINETY) == ([(0,), (9,), (X,), (0,), (6,), (1,), (X,)], [0, 5, 2, END])
    assert sorting((9, 2, 5)) == ([(9,), (2,), (5,)], [2, 5, 9, END])


def test_a_sum_with_more_digits_than_its_numbers_has_room():
    assert easy(("99", "1")) == ([(9, 1), (9, 0), (0, 0)], [0, 0, 1])
    assert len(easy(("9" * 5000, "1")).target) == 5001


@pytest.mark.parametrize("network", [Aligned, Seq2Seq, Transformer])
def test_what_a_network_says_does_not_depend_on_its_neighbours(network):
    """Padding is never seen."""
    torch.manual_seed(0)
    layout = easy if network is Aligned else reversed_plain
    examples = [layout(problem) for problem in (("7", "5"), ("123456", "98"), ("40", "2"))]
    model = network().eval()
    with torch.inference_mode():
        together = model.say(batch_of(examples), 8)
        for row, example in zip(together, examples, strict=True):
            alone = model.say(batch_of([example]), 8)[0]
            size = len(example.target) if network is Aligned else 8
            assert row[:size].tolist() == alone[:size].tolist()
        losses = [model.loss(batch_of([example])).item() for example in examples]
        counts = [len(example.target) for example in examples]
        mean = sum(loss * count for loss, count in zip(losses, counts, strict=True)) / sum(counts)
        assert model.loss(batch_of(examples)).item() == pytest.approx(mean, rel=1e-4)


def test_some_of_a_batch_are_as_if_put_together_anew():
    examples = [reversed_plain(problem) for problem in (("123456", "98"), ("7", "5"), ("40", "2"))]
    some = batch_of(examples).of(np.array([2, 1, 2]))
    anew = batch_of([examples[2], examples[1], examples[2]])
    assert all(torch.equal(mine, other) for mine, other in zip(some, anew, strict=True))


UPDATES = {"s2s-sorting": 300, "s2s-plain": 2500, "s2s-stacked": 2000, "s2s-easy": 300, "transformer": 900}


@pytest.mark.parametrize("name", BASELINES)
def test_each_learns_where_it_was_trained_if_there_is_enough_to_learn_from(name):
    """Judged on problems of the same lengths that it has not seen."""
    torch.manual_seed(0)
    baseline = BASELINES[name]
    if name == "s2s-sorting":
        problems = list(itertools.product(range(10), repeat=3))
    else:
        problems = [(str(first), str(second)) for first in range(60) for second in range(60)]
    Random(0).shuffle(problems)
    examples = [baseline.layout(problem) for problem in problems]
    judged, held_back, known = examples[:150], examples[150:300], examples[300:]
    network = baseline.network()
    config = FitConfig(updates=UPDATES[name], learning_rate=baseline.rate, weight_decay=baseline.decay)
    for _ in fit(network, known, held_back, config):
        pass
    assert sum(right(network, judged)) / len(judged) > 0.99


def test_the_weights_that_did_best_are_kept(monkeypatch):
    torch.manual_seed(0)
    examples = [easy((str(a), str(b))) for a in range(10) for b in range(10)]
    network, observation = Aligned(width=8), []

    def scripted(network, held_back):
        observation.append(network.out.bias.detach().clone())
        return [[True, False], [True, True], [False, False]][len(observation) - 1]

    monkeypatch.setattr(baselines, "right", scripted)
    *_, last = fit(network, examples, examples[:2], FitConfig(updates=60, learning_rate=1e-2, judge_every=20))
    assert last.held_back == 1.0
    assert torch.equal(network.out.bias, observation[1])
    assert not torch.equal(observation[1], observation[2])


def test_all_that_is_to_be_said_must_be_right_and_no_more():
    class Says(Aligned):
        def say(self, batch, steps):
            return torch.tensor([[2, 5, 9, END], [1, END, END, END], [1, 1, END, END]])[:, :steps]

    examples = [sorting((9, 2, 5)), sorting((1,)), sorting((1,))]
    assert batch_of(examples).target[1].tolist() == [1, END, NOTHING, NOTHING]
    assert right(Says(1, 4, 1), examples) == [True, True, False]
