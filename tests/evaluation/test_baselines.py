"""Baselines: laid out as in the paper's appendix, and able to learn."""

import itertools
from random import Random

import numpy as np
import pytest
import torch

from npi.evaluation import baselines
from npi.evaluation.baselines import (  # fmt: skip
    BASELINES,
    END,
    IGNORE,
    PLACES,
    Aligned,
    FitConfig,
    Seq2Seq,
    Transformer,
    X,
    batch_of,
    correct,
    easy,
    fit,
    plain,
    reversed_plain,
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


ABACUS = BASELINES["transformer-abacus"].network


@pytest.mark.parametrize("network", [Aligned, Seq2Seq, Transformer, ABACUS])
def test_predictions_do_not_depend_on_the_rest_of_the_batch(network):
    """Padding has no influence."""
    torch.manual_seed(0)
    layout = easy if network is Aligned else reversed_plain
    examples = [layout(problem) for problem in (("7", "5"), ("123456", "98"), ("40", "2"))]
    model = network().eval()
    with torch.inference_mode():
        together = model.generate(batch_of(examples), 8)
        for row, example in zip(together, examples, strict=True):
            alone = model.generate(batch_of([example]), 8)[0]
            size = len(example.target) if network is Aligned else 8
            assert row[:size].tolist() == alone[:size].tolist()
        losses = [model.loss(batch_of([example])).item() for example in examples]
        counts = [len(example.target) for example in examples]
        mean = sum(loss * count for loss, count in zip(losses, counts, strict=True)) / sum(counts)
        assert model.loss(batch_of(examples)).item() == pytest.approx(mean, rel=1e-4)


def test_abacus_places_count_the_digits_of_each_number():
    torch.manual_seed(0)
    model = Transformer(abacus=True).eval()
    tokens = torch.tensor([[7, 8, X, 9, X, 1, 2, 3], [5, X, 4, 3, 2, X, END, END]])
    expected = [[1, 2, 0, 1, 0, 1, 2, 3], [1, 0, 1, 2, 3, 0, 0, 0]]
    assert model._places(tokens).tolist() == expected
    moved = model.train()._places(tokens) - torch.tensor(expected)
    offsets = moved[tokens < X].tolist()
    assert len(set(offsets[:6])) == len(set(offsets[6:])) == 1  # each sequence has its own
    assert min(offsets) >= 0
    assert max(offsets) > 1
    assert moved[tokens >= X].tolist() == [0] * 6
    assert model.eval()._places(torch.zeros(1, 200, dtype=torch.long)).max() == PLACES - 1


def test_rows_of_a_batch_equal_a_batch_of_those_examples():
    examples = [reversed_plain(problem) for problem in (("123456", "98"), ("7", "5"), ("40", "2"))]
    some = batch_of(examples).of(np.array([2, 1, 2]))
    expected = batch_of([examples[2], examples[1], examples[2]])
    assert all(torch.equal(mine, other) for mine, other in zip(some, expected, strict=True))


UPDATES = {
    "s2s-sorting": 300,
    "s2s-plain": 2500,
    "s2s-stacked": 2000,
    "s2s-easy": 300,
    "transformer": 900,
    "transformer-abacus": 900,
}


FAST = "s2s-easy"  # trained in seconds; the others take minutes


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == FAST else pytest.mark.slow) for name in BASELINES]
)
def test_each_baseline_solves_unseen_problems_of_the_lengths_it_was_trained_on(name):
    torch.manual_seed(0)
    baseline = BASELINES[name]
    if name == "s2s-sorting":
        problems = list(itertools.product(range(10), repeat=3))
    else:
        problems = [(str(first), str(second)) for first in range(60) for second in range(60)]
    Random(0).shuffle(problems)
    examples = [baseline.layout(problem) for problem in problems]
    test, validation, train = examples[:150], examples[150:300], examples[300:]
    network = baseline.network()
    config = FitConfig(updates=UPDATES[name], learning_rate=baseline.learning_rate, weight_decay=baseline.weight_decay)
    for _ in fit(network, train, validation, config):
        pass
    assert sum(correct(network, test)) / len(test) > 0.99


def test_the_best_weights_are_kept(monkeypatch):
    torch.manual_seed(0)
    examples = [easy((str(a), str(b))) for a in range(10) for b in range(10)]
    network, biases = Aligned(width=8), []

    def scripted(network, validation):
        biases.append(network.out.bias.detach().clone())
        return [[True, False], [True, True], [False, False]][len(biases) - 1]

    monkeypatch.setattr(baselines, "correct", scripted)
    *_, last = fit(network, examples, examples[:2], FitConfig(updates=60, learning_rate=1e-2, eval_every=20))
    assert last.validation_accuracy == 1.0
    assert torch.equal(network.out.bias, biases[1])
    assert not torch.equal(biases[1], biases[2])


def test_an_answer_is_correct_only_as_a_whole():
    class Fixed(Aligned):
        def generate(self, batch, steps):
            return torch.tensor([[2, 5, 9, END], [1, END, END, END], [1, 1, END, END]])[:, :steps]

    examples = [sorting((9, 2, 5)), sorting((1,)), sorting((1,))]
    assert batch_of(examples).target[1].tolist() == [1, END, IGNORE, IGNORE]
    assert correct(Fixed(1, 4, 1), examples) == [True, True, False]
