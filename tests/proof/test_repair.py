"""Training until verified: failing histories are learned, rounds are counted, interrupted rounds can be resumed."""

from dataclasses import replace

import pytest
import torch

from npi import tasks
from npi.errors import NotProvable
from npi.proof.compare import Comparison
from npi.proof.repair import Verifier, train_until_verified
from npi.training.config import FAST
from npi.training.resume import restore_training, save_training
from npi.training.trainer import Trainer, make_trainer

# Demonstrations on arrays of two equal elements alone, so that most reachable histories are missing.
FEW = replace(tasks.find("bubblesort"), sizes=(2,), examples=1, sample=lambda rng, size: (1,) * size)
QUICK = replace(FAST, updates_after_learned=20, eval_every=25, repair_updates=60, repair_rounds=6)


@pytest.fixture(scope="module")
def verifier():
    return Verifier([FEW])


def attempts(training: Trainer, verifier: Verifier) -> list[Comparison]:
    return [event["bubblesort"] for event in train_until_verified(training, verifier) if isinstance(event, dict)]


def test_failing_histories_are_learned_until_none_fails(verifier):
    training = make_trainer([FEW], QUICK)
    found = attempts(training, verifier)
    assert found[0].wrong_nodes, "a proof at the first attempt leaves nothing to repair"
    assert found[-1].proved
    assert training.repair_round == len(found) - 1
    assert len(training.failing_histories["bubblesort"]) >= len(found[0].wrong_nodes)
    again = verifier.compare(training.ema_model)["bubblesort"]
    assert again.proved


def test_rounds_are_limited(verifier):
    training = make_trainer([FEW], replace(QUICK, repair_rounds=1, repair_updates=1))
    found = attempts(training, verifier)
    assert len(found) == 2
    assert not found[-1].proved


def test_no_proof_is_attempted_before_the_tasks_are_learned(verifier):
    assert attempts(make_trainer([FEW], replace(QUICK, updates=2)), verifier) == []


def test_an_interrupted_round_can_be_resumed(verifier, tmp_path):
    config = replace(QUICK, repair_rounds=1, repair_updates=30)
    uninterrupted = make_trainer([FEW], config)
    attempts(uninterrupted, verifier)
    interrupted = make_trainer([FEW], config)
    for _ in train_until_verified(interrupted, verifier):
        if interrupted.repair_round and interrupted.updates == interrupted.repair_start + 11:
            break
    save_training(interrupted, tmp_path)
    resumed = make_trainer([FEW], config)
    restore_training(resumed, tmp_path)
    assert (resumed.repair_round, resumed.repair_start, resumed.failing_histories) == (
        interrupted.repair_round,
        interrupted.repair_start,
        interrupted.failing_histories,
    )
    resumed.set_repair_frames(verifier.frames(resumed.failing_histories))
    for _ in resumed.run():
        pass
    expected = uninterrupted.model.state_dict()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in resumed.model.state_dict().items())


def test_tasks_without_tapes_cannot_be_proved():
    with pytest.raises(NotProvable, match="cars"):
        Verifier([tasks.find("cars")])
    assert list(Verifier([tasks.find("cars"), FEW]).reachable) == ["bubblesort"]


@pytest.mark.slow
def test_the_command_trains_until_verified(npi, tmp_path):
    out = str(tmp_path / "model")
    code, printed, err = npi("train", "quicksort", "--sizes", "5", "--examples", "4", "--out", out, "--until-verified")
    assert code == 0, err
    assert "quicksort is proved" in printed
    assert npi("verify", "quicksort", "--model", out)[0] == 0
    code, printed, err = npi("run", "quicksort", "512", "-3", "77", "12", "--model", out)
    assert (code, printed) == (0, "-3 12 77 512\n")
    assert npi("train", "cars", "--out", str(tmp_path / "cars"), "--until-verified")[0] == 2
    code, printed, err = npi(
        "train", "bubblesort", "--teacher", "loop", "--out", str(tmp_path / "loop"), "--until-verified"
    )
    assert code == 2
    assert "recursive teacher" in err
    assert not (tmp_path / "loop").exists()
