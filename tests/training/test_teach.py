"""Teaching: new rows, and nothing else."""

import copy
import json
from dataclasses import replace

import pytest
import torch

from npi import BadInput, Limits, Memo, NeuralDecider, run_batch, tasks
from npi.language.program import Call
from npi.network.checkpoint import load_model, save_model
from npi.network.model import NPI, ModelConfig
from npi.tasks.addition import AdditionPad
from npi.training.teach import NotFrozen, TeachConfig, _rehearsal, check_frozen, new_programs, teach

SHORT = TeachConfig(restarts=2, updates=20, frames=8, estimate_every=10)
MAXIMUM = replace(tasks.find("maximum"), sizes=range(1, 4), examples=6)


def traces(model, name):
    task = tasks.find(name)
    envs = [task.env.of(problem) for problem in task.test_problems(3, 20, 0)]
    return run_batch(envs, task.call, Memo(NeuralDecider(model, task.env)), Limits(2_000))


@pytest.mark.parametrize("rehearse", [(), (tasks.find("sorting"),)])
def test_frozen_is_frozen(shipped, rehearse):
    before = {name: tensor.clone() for name, tensor in shipped.state_dict().items()}
    known = list(shipped.programs)
    few = [replace(task, sizes=range(1, 4), examples=2) for task in rehearse]
    taught = teach(shipped, MAXIMUM, few, SHORT)
    assert taught.programs == ("MAX", "RJMP")
    assert taught.model.programs == [*known, "MAX", "RJMP"]
    assert shipped.programs == known
    for name, tensor in before.items():
        after = taught.model.state_dict()[name]
        after = after[: len(known)] if name in ("keys", "embeddings") else after
        assert after.numpy().tobytes() == tensor.numpy().tobytes(), name
        assert shipped.state_dict()[name].numpy().tobytes() == tensor.numpy().tobytes(), name


def test_rehearsed_frames_are_seen_by_their_own_environments(shipped):
    """What the model could do before, on either pad, is still right before the new rows have learned anything."""
    few = [replace(tasks.find(name), sizes=range(1, 4), examples=2) for name in ("addition", "sorting")]
    new = len(new_programs(shipped, MAXIMUM)[1])
    taught = teach(shipped, MAXIMUM, few, replace(SHORT, updates=1, eval_every=1))
    assert taught.wrong <= new < taught.frames - 100


def test_what_a_model_has_wrong_is_not_rehearsed(shipped):
    few = replace(tasks.find("sorting"), sizes=range(1, 4))
    known = _rehearsal(shipped, few, 0)
    spoilt = copy.deepcopy(shipped)
    with torch.no_grad():
        spoilt.end_head.bias += 100  # every program returns at once
    right = _rehearsal(spoilt, few, 0)
    assert right == [frame for frame in known if len(frame.steps) == 1]
    assert 0 < len(right) < len(known)


def test_only_the_rows_of_new_programs_learn(shipped):
    early, late = (teach(shipped, MAXIMUM, (), replace(SHORT, updates=n)) for n in (10, 20))
    new = len(shipped.programs)
    assert not torch.equal(early.model.embeddings[new:], late.model.embeddings[new:])
    assert not torch.equal(early.model.keys[new:], late.model.keys[new:])
    for memory in ("keys", "embeddings"):
        assert torch.equal(getattr(early.model, memory)[:new], getattr(late.model, memory)[:new])


@pytest.mark.parametrize("name", ["lstm.weight_hh_l0", "end_head.bias", "keys", "encoders.SortingPad.bias"])
def test_a_leak_is_caught(shipped, name):
    """One bit of one number, anywhere."""
    leaky = copy.deepcopy(shipped)
    leaky.add_program("MAX")
    check_frozen(shipped, leaky)
    with torch.no_grad():
        tensor = leaky.get_parameter(name)
        first = tensor.reshape(-1)[:1].view(torch.int32)
        tensor.view(-1)[:1].copy_((first ^ 1).view(torch.float32))
    with pytest.raises(NotFrozen, match=name.replace(".", r"\.")):
        check_frozen(shipped, leaky)


def test_guarded_old_programs_run_as_before_whatever_was_taught(shipped):
    """Even where the new row would be found by every program: with a guard it cannot be, without one it is."""
    greedy = {}
    for generation in (0, 1):
        model = copy.deepcopy(shipped)
        with torch.no_grad():
            loud = 1000 * model.keys.mean(0)
        model.add_program("LOUD", key=loud, generation=generation)
        greedy[generation] = model
    assert traces(greedy[1], "sorting") == traces(shipped, "sorting")
    assert traces(greedy[1], "addition") == traces(shipped, "addition")
    assert traces(greedy[0], "sorting") != traces(shipped, "sorting")


def test_a_guard_outlives_the_disk(shipped, tmp_path):
    taught = teach(shipped, MAXIMUM, (), SHORT)
    save_model(taught.model, tmp_path, {})
    back = load_model(tmp_path)
    assert back.generations == taught.model.generations
    assert set(back.generations) == {0, 1}
    assert traces(back, "sorting") == traces(shipped, "sorting")


def test_what_is_new_and_what_is_not(shipped):
    new, frames = new_programs(shipped, MAXIMUM)
    assert new == ("MAX", "RJMP")
    assert {frame.call.program for frame in frames} == {"MAX", "RJMP"}
    assert frames[0].steps[0].decision == Call("BUBBLESORT")
    with pytest.raises(BadInput, match="has a program BUBBLESORT already"):
        new_programs(shipped, replace(tasks.find("sorting"), sizes=[2], examples=2))


def test_what_cannot_be_taught_is_said(shipped):
    config = ModelConfig.of([AdditionPad], lstm_width=16)
    with pytest.raises(BadInput, match="no encoder for SortingPad"):
        new_programs(NPI(config, ["ACT", "ADD"]), MAXIMUM)
    pads = NPI(replace(shipped.config, lstm_width=16), ["ACT", "ADD"])
    with pytest.raises(BadInput, match="BUBBLESORT, RSHIFT, which the model does not know"):
        new_programs(pads, MAXIMUM)


def test_the_command(npi, tmp_path):
    code, out, err = npi("teach", "maximum", "--examples", 16, "--out", tmp_path / "m", "--json")
    said = json.loads(out)
    assert (code, said["learned"], said["programs"]) == (0, True, ["MAX", "RJMP"]), err
    code, out, _ = npi("run", "maximum", "9", "2", "5", "3", "--model", tmp_path / "m")
    assert (code, out) == (0, "9\n")
    code, out, _ = npi(
        "evaluate", "--task", "maximum", "--sizes", 1, 5, 30, "--problems", 20, "--model", tmp_path / "m"
    )
    assert code == 0, out


def test_what_is_not_learnt_is_not_written(npi, tmp_path):
    code, out, _ = npi("teach", "maximum", "--out", tmp_path / "m", "--updates", 2, "--examples", 2, "--json")
    assert (code, json.loads(out)["learned"]) == (1, False)
    assert not (tmp_path / "m" / "config.json").exists()


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["maximum", "--guard", "--rehearse"], "give one of them"),
        (["maximun"], "did you mean 'maximum'"),
        (["sorting", "--examples", "1"], "has a program BUBBLESORT already"),
        (["toposort"], "no encoder for"),
        (["maximum", "--updates", "0"], "at least 1"),
        (["maximum", "--model", "nowhere"], "holds no model"),
    ],
)
def test_bad_input(npi, tmp_path, argv, says):
    code, _, err = npi("teach", *argv, "--out", tmp_path / "m")
    assert code == 2
    assert says in err
    assert not (tmp_path / "m").exists()


def test_a_model_in_the_way_is_kept(npi, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    code, _, err = npi("teach", "maximum", "--out", tmp_path)
    assert (code, (tmp_path / "config.json").read_text()) == (2, "{}")
    assert "already holds a model" in err


def test_a_model_that_was_not_taught_says_what_to_do(npi):
    code, _, err = npi("run", "maximum", "9", "2", "5")
    assert code == 2
    assert "npi teach maximum" in err
