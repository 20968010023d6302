"""Trainer until proved: failing histories are learned, rounds are counted, and nothing is lost by stopping."""

from dataclasses import replace

import pytest
import torch

from npi import FAST, tasks
from npi.errors import NotProvable
from npi.proof.compare import Comparison
from npi.proof.repair import Prover, train_until_proved
from npi.training.resume import restore_training, save_training
from npi.training.trainer import Trainer, make_trainer

# Arrays of two equal elements alone: most of what is to be proved was never shown.
FEW = replace(tasks.find("bubblesort"), sizes=(2,), examples=1, sample=lambda rng, size: (1,) * size)
QUICK = replace(FAST, updates_after_learned=20, eval_every=25, repair_updates=60, repair_rounds=6)


@pytest.fixture(scope="module")
def prover():
    prover = Prover([FEW])
    for _ in prover.explore():
        pass
    return prover


def attempts(training: Trainer, prover: Prover) -> list[Comparison]:
    return [event["bubblesort"] for event in train_until_proved(training, prover) if isinstance(event, dict)]


def test_what_fails_is_learnt_until_nothing_fails(prover):
    training = make_trainer([FEW], QUICK)
    found = attempts(training, prover)
    assert found[0].wrong, "if it is proved at once, this tests nothing"
    assert found[-1].proved
    assert training.repair_round == len(found) - 1
    assert len(training.failing_histories["bubblesort"]) >= len(found[0].wrong)
    again = prover.compare(training.ema_model)["bubblesort"]
    assert again.proved


def test_rounds_are_limited(prover):
    training = make_trainer([FEW], replace(QUICK, repair_rounds=1, repair_updates=1))
    found = attempts(training, prover)
    assert len(found) == 2
    assert not found[-1].proved


def test_what_was_not_learnt_is_not_tried(prover):
    assert attempts(make_trainer([FEW], replace(QUICK, updates=2)), prover) == []


def test_a_round_can_be_interrupted_and_gone_on_with(prover, tmp_path):
    config = replace(QUICK, repair_rounds=1, repair_updates=30)
    unbroken = make_trainer([FEW], config)
    attempts(unbroken, prover)
    broken = make_trainer([FEW], config)
    for _ in train_until_proved(broken, prover):
        if broken.repair_round and broken.updates == broken.repair_start + 11:
            break
    save_training(broken, tmp_path)
    second = make_trainer([FEW], config)
    restore_training(second, tmp_path)
    assert (second.repair_round, second.repair_start, second.failing_histories) == (
        broken.repair_round,
        broken.repair_start,
        broken.failing_histories,
    )
    second.set_repair_frames(prover.frames(second.failing_histories))
    for _ in second.run():
        pass
    theirs = unbroken.model.state_dict()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in second.model.state_dict().items())


def test_only_what_is_on_tapes_can_be_proved():
    with pytest.raises(NotProvable, match="cars"):
        Prover([tasks.find("cars")])
    assert list(Prover([tasks.find("cars"), FEW]).explorations) == ["bubblesort"]


def test_the_command_trains_until_proved(npi, tmp_path):
    out = str(tmp_path / "model")
    code, said, err = npi("train", "quicksort", "--sizes", "5", "--examples", "4", "--out", out, "--until-verified")
    assert code == 0, err
    assert "quicksort is proved" in said
    assert npi("verify", "quicksort", "--model", out)[0] == 0
    code, said, err = npi("run", "quicksort", "512", "-3", "77", "12", "--model", out)
    assert (code, said) == (0, "-3 12 77 512\n")
    assert npi("train", "cars", "--out", str(tmp_path / "cars"), "--until-verified")[0] == 2
    code, said, err = npi(
        "train", "bubblesort", "--teacher", "loop", "--out", str(tmp_path / "loop"), "--until-verified"
    )
    assert code == 2
    assert "recursive teacher" in err
    assert not (tmp_path / "loop").exists()
