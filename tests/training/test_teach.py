"""Teaching: new memory rows are trained, and nothing else changes."""

import copy
import json
from dataclasses import replace

import pytest
import torch

from npi import BadInput, Limits, NotLearned, run, tasks, teach
from npi.language.interpreter import run_batch
from npi.language.memo import Memo
from npi.language.program import Call
from npi.network.checkpoint import load_model, save_model
from npi.network.model import NPI, ModelConfig
from npi.network.neural_decider import NeuralDecider
from npi.tasks.addition import AdditionPad
from npi.training.row_trainer import TeachConfig
from npi.training.teach import NotFrozen, TeachMetrics, check_frozen, new_programs, rehearsal_frames, teach_task

SHORT = TeachConfig(restarts=2, updates=20, batch_frames=8, eval_every=10)
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
    taught = teach_task(shipped, MAXIMUM, few, SHORT)
    assert taught.programs == ("MAX", "RJMP")
    assert taught.model.programs == [*known, "MAX", "RJMP"]
    assert shipped.programs == known
    for name, tensor in before.items():
        after = taught.model.state_dict()[name]
        after = after[: len(known)] if name in ("keys", "embeddings") else after
        assert after.numpy().tobytes() == tensor.numpy().tobytes(), name
        assert shipped.state_dict()[name].numpy().tobytes() == tensor.numpy().tobytes(), name


def test_rehearsed_frames_are_encoded_by_their_own_environments(shipped):
    """Before the new rows have learned anything, only new frames are wrong; old ones are right on either pad."""
    few = [replace(tasks.find(name), sizes=range(1, 4), examples=2) for name in ("addition", "sorting")]
    new = len(new_programs(shipped, MAXIMUM)[1])
    taught = teach_task(shipped, MAXIMUM, few, replace(SHORT, updates=1, eval_every=1))
    assert taught.wrong <= new < taught.frames - 100


def test_frames_that_the_model_has_wrong_are_not_rehearsed(shipped):
    few = replace(tasks.find("sorting"), sizes=range(1, 4))
    known = rehearsal_frames(shipped, few, 0)
    broken = copy.deepcopy(shipped)
    with torch.no_grad():
        broken.end_head.bias += 100  # every program returns at once
    right = rehearsal_frames(broken, few, 0)
    assert right == [frame for frame in known if len(frame.steps) == 1]
    assert 0 < len(right) < len(known)


def test_only_the_rows_of_new_programs_are_trained(shipped):
    early, late = (teach_task(shipped, MAXIMUM, (), replace(SHORT, updates=n)) for n in (10, 20))
    new = len(shipped.programs)
    assert not torch.equal(early.model.embeddings[new:], late.model.embeddings[new:])
    assert not torch.equal(early.model.keys[new:], late.model.keys[new:])
    for memory in ("keys", "embeddings"):
        assert torch.equal(getattr(early.model, memory)[:new], getattr(late.model, memory)[:new])


@pytest.mark.parametrize("name", ["lstm.weight_hh_l0", "end_head.bias", "keys", "encoders.SortingPad.bias"])
def test_any_change_of_the_frozen_model_is_found(shipped, name):
    """One bit of one number is enough."""
    changed = copy.deepcopy(shipped)
    changed.add_program("MAX")
    check_frozen(shipped, changed)
    with torch.no_grad():
        tensor = changed.get_parameter(name)
        first = tensor.reshape(-1)[:1].view(torch.int32)
        tensor.view(-1)[:1].copy_((first ^ 1).view(torch.float32))
    with pytest.raises(NotFrozen, match=name.replace(".", r"\.")):
        check_frozen(shipped, changed)


def test_masked_old_programs_run_as_before_whatever_was_taught(shipped):
    """A new key that scores highest for every program: with the mask no old program calls it, without it they do."""
    models = {}
    for generation in (0, 1):
        model = copy.deepcopy(shipped)
        with torch.no_grad():
            loud = 1000 * model.keys.mean(0)
        model.add_program("LOUD", key=loud, generation=generation)
        models[generation] = model
    assert traces(models[1], "sorting") == traces(shipped, "sorting")
    assert traces(models[1], "addition") == traces(shipped, "addition")
    assert traces(models[0], "sorting") != traces(shipped, "sorting")


def test_the_mask_is_saved_and_loaded(shipped, tmp_path):
    taught = teach_task(shipped, MAXIMUM, (), SHORT)
    save_model(taught.model, tmp_path, {})
    back = load_model(tmp_path)
    assert back.generations == taught.model.generations
    assert set(back.generations) == {0, 1}
    assert traces(back, "sorting") == traces(shipped, "sorting")


def test_new_programs_are_those_that_the_model_lacks(shipped):
    new, frames = new_programs(shipped, MAXIMUM)
    assert new == ("MAX", "RJMP")
    assert {frame.call.program for frame in frames} == {"MAX", "RJMP"}
    assert frames[0].steps[0].decision == Call("BUBBLESORT")
    with pytest.raises(BadInput, match="has a program BUBBLESORT already"):
        new_programs(shipped, replace(tasks.find("sorting"), sizes=[2], examples=2))


def test_a_task_that_cannot_be_taught_is_refused(shipped):
    config = ModelConfig.of([AdditionPad], lstm_width=16)
    with pytest.raises(BadInput, match="no encoder for SortingPad"):
        new_programs(NPI(config, ["ACT", "ADD"]), MAXIMUM)
    pads = NPI(replace(shipped.config, lstm_width=16), ["ACT", "ADD"])
    with pytest.raises(BadInput, match="BUBBLESORT, RSHIFT, which the model does not know"):
        new_programs(pads, MAXIMUM)


@pytest.mark.slow
def test_the_command(npi, tmp_path):
    code, out, err = npi("teach", "maximum", "--examples", 16, "--out", tmp_path / "m", "--json")
    result = json.loads(out)
    assert (code, result["learned"], result["programs"]) == (0, True, ["MAX", "RJMP"]), err
    code, out, _ = npi("run", "maximum", "9", "2", "5", "3", "--model", tmp_path / "m")
    assert (code, out) == (0, "9\n")
    code, out, _ = npi(
        "evaluate", "--task", "maximum", "--sizes", 1, 5, 30, "--problems", 20, "--model", tmp_path / "m"
    )
    assert code == 0, out


def test_the_function_returns_a_taught_model(shipped, tmp_path):
    reports = []
    taught = teach(MAXIMUM, shipped, out=tmp_path, updates=150, progress=reports.append)
    assert "MAX" not in shipped.programs
    assert {report.details.wrong for report in reports} >= {0}
    assert all(isinstance(report.details, TeachMetrics) and report.total == 150 for report in reports)
    (entry,) = taught.training_info["taught"]
    assert (entry["task"], entry["programs"], entry["rehearsed"]) == ("maximum", ["MAX", "RJMP"], False)
    assert load_model(tmp_path).training_info == taught.training_info
    assert run(MAXIMUM, [3, 9, 5], taught).answer == 9
    with pytest.raises(BadInput, match="already holds a model"):
        teach(MAXIMUM, shipped, out=tmp_path)


def test_the_function_writes_nothing_unless_all_is_learned(shipped, tmp_path):
    with pytest.raises(NotLearned, match="frames are still wrong after 1 updates") as caught:
        teach(MAXIMUM, shipped, out=tmp_path / "m", updates=1)
    assert 0 < caught.value.wrong <= caught.value.frames
    assert caught.value.updates == 1
    assert not (tmp_path / "m").exists()


def test_a_model_that_did_not_learn_is_not_written(npi, tmp_path):
    code, out, _ = npi("teach", "maximum", "--out", tmp_path / "m", "--updates", 2, "--examples", 2, "--json")
    assert (code, json.loads(out)["learned"]) == (1, False)
    assert not (tmp_path / "m" / "config.json").exists()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["maximum", "--guard", "--rehearse"], "give one of them"),
        (["maximun"], "did you mean 'maximum'"),
        (["sorting", "--examples", "1"], "has a program BUBBLESORT already"),
        (["toposort"], "no encoder for"),
        (["maximum", "--updates", "0"], "at least 1"),
        (["maximum", "--model", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_bad_input(npi, tmp_path, argv, message):
    code, _, err = npi("teach", *argv, "--out", tmp_path / "m")
    assert code == 2
    assert message in err
    assert not (tmp_path / "m").exists()


def test_an_existing_model_is_not_replaced(npi, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    code, _, err = npi("teach", "maximum", "--out", tmp_path)
    assert (code, (tmp_path / "config.json").read_text()) == (2, "{}")
    assert "already holds a model" in err


def test_running_a_task_that_was_not_taught_names_the_command(npi):
    code, _, err = npi("run", "maximum", "9", "2", "5")
    assert code == 2
    assert "npi teach maximum" in err


def unpractised(model):
    """The same weights, as if the core had been trained without practice."""
    other = copy.deepcopy(model)
    other.config = replace(other.config, teachable=False)
    return other


@pytest.mark.parametrize("rehearse", [(), (replace(tasks.find("sorting"), sizes=range(1, 4), examples=2),)])
def test_without_practice_new_programs_get_keys_of_their_own_for_old_ones(shipped, rehearse):
    core = copy.deepcopy(shipped)
    row = core.programs.index("BUBBLESORT")
    with torch.no_grad():
        core.keys[row] = -100 * core.keys.mean(0)  # no hidden state points to it
    assert not teach_task(core, MAXIMUM, rehearse, replace(SHORT, updates=100)).learned
    result = teach_task(unpractised(core), MAXIMUM, rehearse, replace(SHORT, updates=300, batch_frames=32))
    assert result.learned
    generation = 0 if rehearse else 1
    # The teacher is recursive: RJMP calls RSHIFT and itself.
    assert result.model.extra_keys == [("BUBBLESORT", generation), ("RSHIFT", generation)]
    assert result.model.keys.shape[0] == len(result.model.programs) + 2
    check_frozen(core, result.model)


def test_extra_keys_are_saved_and_loaded_and_outlast_further_teaching(shipped, tmp_path):
    core = NPI(replace(shipped.config, teachable=False, lstm_width=16), shipped.programs)
    taught = teach_task(core, MAXIMUM, (), replace(SHORT, updates=1)).model
    save_model(taught, tmp_path, {})
    back = load_model(tmp_path)
    assert back.extra_keys == taught.extra_keys != []
    assert torch.equal(back.keys, taught.keys)
    again = copy.deepcopy(back)
    again.add_program("LATER", generation=2)
    again.add_key("RSHIFT", torch.zeros(again.config.key_width), 2)
    check_frozen(back, again)
    count = len(back.programs)
    assert torch.equal(again.keys[count + 1 : -1], back.keys[count:])
    with torch.no_grad():
        again.keys[count + 1] += 1
    with pytest.raises(NotFrozen, match="keys"):
        check_frozen(back, again)


def test_old_programs_do_not_see_extra_keys_of_a_later_generation(shipped):
    with torch.no_grad():
        loud = 1000 * shipped.keys.mean(0)
    before = traces(shipped, "sorting")
    for generation, same in ((1, True), (0, False)):
        model = copy.deepcopy(shipped)
        model.add_key("CARRY", loud, generation)
        assert (traces(model, "sorting") == before) is same


def test_a_core_with_practice_needs_no_extra_keys(shipped):
    assert teach_task(shipped, MAXIMUM, (), SHORT).model.extra_keys == []
