"""The tasks in examples/: they train, are proved, compile, and decompile to their own programs."""

from pathlib import Path

import pytest
import torch

import npi
from npi.language.task_file import load_task_file

SHELF = f"{Path(__file__).parents[2] / 'examples' / 'shelf.py'}:task"


@pytest.fixture(scope="module")
def shelf():
    return load_task_file(SHELF)


@pytest.fixture(scope="module")
def model(shelf):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # this model is too small for two threads, which are far slower on a busy machine
    yield npi.train(shelf, until_verified=True)
    torch.set_num_threads(threads)


def test_the_shelf_can_be_learned(shelf):
    assert npi.check_task(shelf).faults == []


def test_the_shelf_is_proved(shelf, model):
    proof = npi.verify(shelf, model)
    assert isinstance(proof, npi.Proof)
    assert proof.histories == 30


def test_the_shelf_runs_far_beyond_its_training_sizes(shelf, model):
    done = npi.run(shelf, [1, 0, 1] * 100, model)
    assert done.right
    assert done.answer == [0] * 300


def test_the_call_tree_of_the_shelf(shelf, model):
    assert npi.run(shelf, [0, 1], model).tree.splitlines() == [
        "TIDY",
        "  DARKEN",
        "  MOVE RIGHT",
        "  TIDY",
        "    DARKEN",
        "      OFF",
    ]


def test_the_shelf_compiles(shelf, model):
    table = npi.compile(shelf, model)
    assert npi.run(shelf, [1, 0, 1], table).answer == [0, 0, 0]


def test_the_shelf_decompiles_to_its_programs(shelf, model):
    source = npi.decompile(shelf, model)
    assert "def tidy(shelf: Shelf) -> None:\n    darken(shelf)\n    if not shelf.observe().last:\n" in source
    assert "def darken(shelf: Shelf) -> None:\n    if shelf.observe().light:\n        act(shelf, OFF" in source


@pytest.mark.parametrize("words", [[], ["2"], ["1", "x"]])
def test_words_that_are_no_shelf_are_refused(shelf, words):
    with pytest.raises(npi.BadInput, match="a shelf is written as 0 and 1"):
        shelf.parse(words)
