"""Training runs on disk, so that an interrupted one goes on to the same bits."""

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
from npi.network.checkpoint import TRAINING, _check_known, _fill, _part, _read, save_model
from npi.training.config import TrainConfig
from npi.training.trainer import Training


def save_training(training: Training, folder: Path) -> None:
    """Write all of a training run, and its model as it would be used now."""
    tensors: dict[str, Tensor] = {}
    parts: dict[str, Module] = {"model": training.model}
    if training.average is not training.model:
        parts["average"] = training.average
    if training.drill is not None:
        parts["drill"] = training.drill
    for part, module in parts.items():
        tensors |= {f"{part}.{name}": tensor.detach().cpu() for name, tensor in module.state_dict().items()}
    for name, parameter in training.named_parameters():
        for key, value in training.optimizer.state.get(parameter, {}).items():
            tensors[f"adam.{key}.{name}"] = value.detach().cpu()
    for name in ("error", "accuracy", "wrong"):
        tensors[name] = torch.from_numpy(getattr(training, name))
    facts = {
        "tasks": training.model.tasks,
        "config": asdict(training.config),
        "seed": training.seed,
        "updates": training.updates,
        "loss": training.loss,
        "learnt": training.learnt,
        "settled": training.settled,
        "failing": training.failing,
        "round": training.round,
        "began": training.began,
        "rng": training.rng.bit_generator.state,
    }
    # safetensors keeps text beside the tensors, so that one file holds the whole run and cannot be half new, half old
    data = save({name: tensor.contiguous() for name, tensor in tensors.items()}, {"training": json.dumps(facts)})
    write(folder / TRAINING, data)
    save_model(training.average, folder, _summary(training))


def _summary(training: Training) -> dict[str, Any]:
    return {
        "seed": training.seed,
        "updates": training.updates,
        "learnt": training.learnt,
        "frames": len(training.lessons),
        "config": asdict(training.config),
    }


def training_facts(folder: Path) -> dict[str, Any]:
    """What a saved training run says of itself: its tasks, configuration, seed and progress."""
    path = folder / TRAINING
    if not path.is_file():
        raise BadInput(f"there is no training run to resume in {folder}: it has no {TRAINING}")
    return _facts(path, _read(path)[1])


def restore_training(training: Training, folder: Path) -> None:
    """Bring a training run, newly made with the saved configuration and seed, to where the saved one stood."""
    path = folder / TRAINING
    tensors, metadata = _read(path)
    facts = _facts(path, metadata)
    if len(tensors["wrong"]) != len(training.lessons):
        raise BadInput(
            f"{path} was trained on {len(tensors['wrong']):,} frames; the tasks now give {len(training.lessons):,}: "
            f"give the same --examples, or, if a task has changed since, start anew with --force"
        )
    _fill(training.model, _part(tensors, "model."), path)
    if training.average is not training.model:
        _fill(training.average, _part(tensors, "average."), path)
    if training.drill is not None:
        _fill(training.drill, _part(tensors, "drill."), path)
    for name, parameter in training.named_parameters():
        state = {key: tensors.get(f"adam.{key}.{name}") for key in ("step", "exp_avg", "exp_avg_sq")}
        training.optimizer.state[parameter] = {
            key: value.to(parameter) for key, value in state.items() if value is not None
        }
    for name in ("error", "accuracy", "wrong"):
        setattr(training, name, tensors[name].numpy().copy())
    for name in ("updates", "loss", "learnt", "settled", "failing", "round", "began"):
        setattr(training, name, facts.get(name, getattr(training, name)))
    training.rng.bit_generator.state = facts["rng"]


def _facts(path: Path, metadata: Mapping[str, str]) -> dict[str, Any]:
    if "training" not in metadata:
        raise BadInput(f"{path} is not a training run of this package: start anew with --force")
    return json.loads(metadata["training"])


def saved_config(facts: Mapping[str, Any]) -> TrainConfig:
    _check_known(TrainConfig, facts["config"], "the training run to resume")
    return TrainConfig(**facts["config"])
