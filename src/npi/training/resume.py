"""Saving and resuming training runs. A resumed run gives the same bits as one that never stopped.

The folder of a run holds the files of its model (network/checkpoint.py) and `training.safetensors`: the weights, the
optimiser state and the random number generator. It is one file, so that a crash cannot leave parts of different ages.
The file's metadata holds what is not a tensor, as JSON: called the facts of a run below.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor
from torch.nn import Module

from npi.errors import BadInput
from npi.files import write
from npi.network.checkpoint import check_known_keys, fill, read_tensors, save_model
from npi.training.config import TrainConfig
from npi.training.trainer import Trainer

TRAINING = "training.safetensors"
CURRICULUM_STATE = ("error_rate", "accuracy", "wrong")  # arrays of the curriculum
TRAINER_STATE = (
    "updates",
    "loss",
    "learned",
    "updates_since_learned",
    "failing_histories",
    "repair_round",
    "repair_start",
)  # attributes of the trainer that are not tensors


def save_training(trainer: Trainer, folder: Path) -> None:
    """Save the whole state of a training run, and the model that it has trained so far."""
    tensors: dict[str, Tensor] = {}
    for part, module in _modules(trainer).items():
        tensors |= {f"{part}.{name}": tensor.detach().cpu() for name, tensor in module.state_dict().items()}
    for name, parameter in trainer.named_parameters():
        for key, value in trainer.optimizer.state.get(parameter, {}).items():
            tensors[f"adam.{key}.{name}"] = value.detach().cpu()
    for name in CURRICULUM_STATE:
        tensors[name] = torch.from_numpy(getattr(trainer.curriculum, name))
    facts = {
        "tasks": trainer.model.tasks,
        "config": asdict(trainer.config),
        "seed": trainer.seed,
        **{name: getattr(trainer, name) for name in TRAINER_STATE},
        "rng": trainer.rng.bit_generator.state,
    }
    data = save({name: tensor.contiguous() for name, tensor in tensors.items()}, {"training": json.dumps(facts)})
    write(folder / TRAINING, data)
    save_model(trainer.ema_model, folder, training_info(trainer))


def training_info(trainer: Trainer) -> dict[str, Any]:
    """How a model was trained, for its config.json and its card."""
    return {
        "seed": trainer.seed,
        "updates": trainer.updates,
        "learned": trainer.learned,
        "frames": len(trainer.dataset),
        "config": asdict(trainer.config),
    }


def holds_training(folder: Path) -> bool:
    """Whether a folder holds the state of a training run, finished or not."""
    return (folder / TRAINING).exists()


def read_facts(folder: Path) -> dict[str, Any]:
    """The facts of a saved run: its tasks, configuration, seed, random number generator, and TRAINER_STATE."""
    path = folder / TRAINING
    if not path.is_file():
        raise BadInput(f"there is no training run to resume in {folder}: it has no {TRAINING}")
    return _facts(path, read_tensors(path)[1])


def saved_config(facts: Mapping[str, Any]) -> TrainConfig:
    """The configuration of a saved training run."""
    check_known_keys(TrainConfig, facts["config"], "the training run to resume")
    return TrainConfig(**facts["config"])


def restore_training(trainer: Trainer, folder: Path) -> None:
    """Load a saved run into a new trainer, which must have the saved configuration and seed."""
    path = folder / TRAINING
    tensors, metadata = read_tensors(path)
    facts = _facts(path, metadata)
    if len(tensors["wrong"]) != len(trainer.dataset):
        raise BadInput(
            f"{path} was trained on {len(tensors['wrong']):,} frames; the tasks now have {len(trainer.dataset):,}: "
            f"give the same --examples or, if a task has changed since, start a new run with --force"
        )
    for part, module in _modules(trainer).items():
        saved = {name.removeprefix(f"{part}."): value for name, value in tensors.items() if name.startswith(f"{part}.")}
        fill(module, saved, path)
    for name, parameter in trainer.named_parameters():
        state = {key: tensors.get(f"adam.{key}.{name}") for key in ("step", "exp_avg", "exp_avg_sq")}
        trainer.optimizer.state[parameter] = {
            key: value.to(parameter) for key, value in state.items() if value is not None
        }
    for name in CURRICULUM_STATE:
        setattr(trainer.curriculum, name, tensors[name].numpy().copy())
    for name in TRAINER_STATE:
        setattr(trainer, name, facts[name])
    trainer.rng.bit_generator.state = facts["rng"]


def _modules(trainer: Trainer) -> dict[str, Module]:
    modules: dict[str, Module] = {"model": trainer.model}
    if trainer.ema_model is not trainer.model:
        modules["ema_model"] = trainer.ema_model
    if trainer.practice is not None:
        modules["practice"] = trainer.practice
    return modules


def _facts(path: Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    if "training" not in metadata:
        raise BadInput(f"{path} is not a training run of this package: start a new one with --force")
    facts = json.loads(metadata["training"])
    if missing := sorted({"tasks", "config", "seed", "rng", *TRAINER_STATE} - set(facts)):
        raise BadInput(
            f"{path} was written by another version: it lacks {', '.join(missing)}. Start a new run with --force"
        )
    return facts
