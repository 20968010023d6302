"""A model elsewhere: in ONNX, and in a folder that a hub could hold."""

import copy
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from npi import BadInput, Limits, tasks
from npi.language.interpreter import run_batch
from npi.language.memo import Memo
from npi.network.checkpoint import load, load_model, save_model
from npi.network.neural_decider import NeuralDecider
from npi.network.onnx import OnnxDecider, compare_export, export_step
from npi.network.pretrained import DEFAULT_MODEL
from npi.training.config import IMAGES
from npi.training.trainer import make_trainer


def few(name):
    return replace(tasks.find(name), sizes=range(1, 4), examples=3)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("onnx") / "addition.onnx"
    export_step(load_model(), tasks.find("addition"), path)
    return path


def test_onnxruntime_decides_as_the_model_does(shipped, exported):
    task = tasks.find("addition")
    decider = OnnxDecider(exported, shipped, task)
    agreement = compare_export(decider, task, task.test_problems(5, 10, 0))
    assert agreement.steps > 100
    assert agreement.different == 0
    assert agreement.largest_gap < 1e-3
    problems = task.test_problems(12, 10, 1)
    envs = [task.env.of(problem) for problem in problems]
    run_batch(envs, task.call, decider, Limits(10_000))  # several questions at once, too
    assert [task.result(env) for env in envs] == [task.answer(problem) for problem in problems]


def test_the_comparison_can_fail(shipped, exported):
    """An export of other weights is found out."""
    task, other = tasks.find("addition"), copy.deepcopy(shipped)
    with torch.no_grad():
        other.args_head.bias += 20 * torch.randn(other.args_head.bias.shape, generator=torch.manual_seed(0))
    assert compare_export(OnnxDecider(exported, other, task), task, task.test_problems(3, 10, 0)).different > 0


def test_pictures_are_exported_too(tmp_path):
    task = few("cars")
    model = make_trainer([task], IMAGES).ema_model.eval()
    export_step(model, task, tmp_path / "cars.onnx")
    agreement = compare_export(OnnxDecider(tmp_path / "cars.onnx", model, task), task, task.test_problems(3, 3, 0))
    assert agreement.steps > 5
    assert agreement.different == 0
    assert agreement.largest_gap < 1e-3


def test_the_command(npi, tmp_path):
    file = tmp_path / "deep" / "sorting.onnx"
    code, out, _ = npi("export", DEFAULT_MODEL, "--task", "sorting", "--out", file, "--problems", 3, "--json")
    report = json.loads(out)
    assert (code, report["different"]) == (0, 0)
    assert report["steps"] > 10
    assert file.stat().st_size > 1_000_000


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([DEFAULT_MODEL, "--out", "model.txt"], "does not end in .onnx"),
        (["nowhere", "--out", "model.onnx"], "there is no folder nowhere"),
        ([DEFAULT_MODEL, "--out", "model.onnx", "--task", "toposort"], "has not learned toposort"),
        ([DEFAULT_MODEL, "--out", "model.onnx", "--problems", "0"], "at least 1"),
    ],
)
def test_bad_input(npi, tmp_path, monkeypatch, argv, message):
    monkeypatch.chdir(tmp_path)
    code, _, err = npi("export", *argv)
    assert code == 2
    assert message in err
    assert not list(tmp_path.iterdir())


def test_a_model_saved_copied_and_loaded_runs_the_same(shipped, tmp_path):
    save_model(shipped, tmp_path / "mine")
    shutil.copytree(tmp_path / "mine", tmp_path / "pushed" / "pulled")
    back = load(tmp_path / "pushed" / "pulled")
    for name in ("addition", "sorting"):
        task = tasks.find(name)
        runs = []
        for model in (shipped, back):
            envs = [task.env.of(problem) for problem in task.test_problems(6, 20, 0)]
            runs.append(run_batch(envs, task.call, Memo(NeuralDecider(model, task.env)), Limits(10_000)))
        assert runs[0] == runs[1]
    assert back.tasks == shipped.tasks
    for name, tensor in back.state_dict().items():
        assert np.array_equal(tensor.numpy(), shipped.state_dict()[name].numpy())
    card = (tmp_path / "mine" / "MODEL_CARD.md").read_text()
    assert "addition (recursive teacher)" in card
    assert "BUBBLESORT" in card
    assert f"seed: {shipped.training_info['seed']}" in card


@pytest.mark.parametrize("name", ["nowhere", "/no/such/folder", "../x/y"])
def test_a_name_of_neither_folder_nor_repository_is_refused(name):
    with pytest.raises(BadInput, match="there is no folder"):
        load(name)
