import json
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from npi import BadInput, tasks
from npi.network.checkpoint import load_model, read_description, save_model
from npi.network.model import NPI, ModelConfig
from npi.network.pretrained import DEFAULT_MODEL
from npi.tasks.sorting import SortingPad
from npi.training.config import FAST, PAPER
from npi.training.resume import read_facts, restore_training, save_training
from npi.training.trainer import make_trainer


@pytest.fixture
def saved(tmp_path):
    torch.manual_seed(1)
    model = NPI(
        ModelConfig.of([SortingPad], lstm_width=8, state_width=4, embedding_width=4, key_width=4, encoder_width=4),
        ["ACT", "RESET"],
    )
    model.tasks = {"sorting": "loop"}
    save_model(model, tmp_path, {"seed": 1})
    return model, tmp_path


def test_a_model_comes_back_as_it_was(saved):
    model, folder = saved
    back = load_model(folder)
    assert (back.config, back.programs, back.tasks) == (model.config, model.programs, model.tasks)
    for name, tensor in model.state_dict().items():
        assert torch.equal(back.state_dict()[name], tensor)
    assert read_description(folder)["training"] == {"seed": 1}


def test_nothing_is_pickled(saved):
    _, folder = saved
    assert {path.name for path in folder.iterdir()} == {"MODEL_CARD.md", "config.json", "model.safetensors"}
    assert {path.suffix for path in DEFAULT_MODEL.iterdir()} <= {".json", ".safetensors", ".md"}
    json.loads((folder / "config.json").read_text())


def damage(folder, name, change):
    path = folder / name
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("model.safetensors", lambda data: data[: len(data) // 2], "is damaged, or not a safetensors file"),
        ("model.safetensors", lambda data: b"", "is damaged, or not a safetensors file"),
        ("model.safetensors", lambda data: b"not tensors at all", "is damaged, or not a safetensors file"),
        ("config.json", lambda data: data[:40], "is not JSON"),
        ("config.json", lambda data: b"[1, 2]", "entry 'format' is missing or unusable"),
        ("config.json", lambda data: b'{"architectures": ["Bert"]}', "entry 'format' is missing or unusable"),
        ("config.json", lambda data: b"\xff\xfe", "is not JSON"),
        ("config.json", lambda data: data.replace(b'"format": 2', b'"format": 99'), "has format 99"),
        (
            "config.json",
            lambda data: data.replace(b'"lstm_width": 8', b'"lstm_width": "wide"'),
            "does not describe a model",
        ),
        (
            "config.json",
            lambda data: data.replace(b'"lstm_width": 8', b'"lstm_width": 16'),
            "It belongs to another model",
        ),
        ("config.json", lambda data: data.replace(b'"lstm_width": 8', b'"width": 8'), "does not know: width"),
        ("config.json", lambda data: data.replace(b'"RESET"', b'"RESET", "MORE"'), "It belongs to another model"),
    ],
)
def test_a_damaged_or_foreign_model_is_refused_in_words(saved, name, change, message):
    _, folder = saved
    damage(folder, name, change)
    with pytest.raises(BadInput, match=message):
        load_model(folder)


def test_a_missing_model_is_refused_in_words(saved, tmp_path):
    _, folder = saved
    with pytest.raises(BadInput, match="holds no model"):
        load_model(tmp_path / "nowhere")
    (folder / "model.safetensors").unlink()
    with pytest.raises(BadInput, match=r"model\.safetensors is missing"):
        load_model(folder)


def test_a_run_that_does_not_fit_its_tasks_any_more_is_refused(tmp_path):
    task = replace(tasks.find("sorting"), sizes=range(2, 4), examples=3)
    save_training(make_trainer([task], FAST), tmp_path)
    assert read_facts(tmp_path)["tasks"] == {"sorting": "recursive"}
    with pytest.raises(BadInput, match="if a task has changed since"):
        restore_training(make_trainer([replace(task, examples=9)], FAST), tmp_path)
    with pytest.raises(BadInput, match="no training run to resume"):
        read_facts(tmp_path / "elsewhere")
    (tmp_path / "training.safetensors").write_bytes((tmp_path / "model.safetensors").read_bytes())
    with pytest.raises(BadInput, match="is not a training run of this package"):
        read_facts(tmp_path)


def limit_files():
    """A disk with room for 100,000 bytes in a file and no more, as far as this process can tell."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


@pytest.mark.posix
def test_a_full_disk_leaves_the_last_good_checkpoint(saved):
    model, folder = saved
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code = f"""
import sys
from pathlib import Path
from npi import NPI, BadInput
from npi.network.checkpoint import save_model
from npi.network.model import ModelConfig
from npi.tasks.sorting import SortingPad
try:
    save_model(NPI(ModelConfig.of([SortingPad]), ["ACT"]), Path({str(folder)!r}), {{}})
except BadInput as error:
    print(error)
    sys.exit(2)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], preexec_fn=limit_files, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "could not be written: File too large; the file that was there is untouched" in done.stdout
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert torch.equal(load_model(folder).keys, model.keys)


def test_a_folder_that_cannot_be_made_is_refused(saved, tmp_path):
    model, _ = saved
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="could not be written"):
        save_model(model, tmp_path / "file" / "model", {})


def test_the_shipped_model_is_small_and_describes_its_training():
    assert sum(path.stat().st_size for path in DEFAULT_MODEL.iterdir()) < 16_000_000
    description = read_description(DEFAULT_MODEL)
    assert description["training"]["learned"] is True
    assert set(description["tasks"]) == {"addition", "cars", "sorting"}
    assert (DEFAULT_MODEL / "MODEL_CARD.md").is_file()


def test_a_run_without_an_average_is_saved_and_resumed(tmp_path):
    """The paper's configuration has none: the model is its own average."""
    task = replace(tasks.find("sorting"), sizes=range(2, 4), examples=2)
    config = replace(PAPER, updates=4)
    training = make_trainer([task], config)
    for metrics in training.run():
        if metrics.update == 2:
            save_training(training, tmp_path)
    again = make_trainer([task], config)
    restore_training(again, tmp_path)
    for _ in again.run():
        pass
    for name, tensor in training.model.state_dict().items():
        assert torch.equal(again.model.state_dict()[name], tensor)
