"""Models and training runs on disk: safetensors and JSON, never pickle.

A model is a folder:
    config.json         enough to rebuild the network: its configuration, programs, tasks and how it was trained
    model.safetensors   its weights
    training.safetensors   while it can still be resumed: all of a training run, in one file

Every file is written beside its place and then moved into it, so a crash or a full disk leaves the last good one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor
from torch.nn import Module

from npi.errors import BadInput
from npi.files import write
from npi.network.model import NPI, ModelConfig
from npi.network.pretrained import SHIPPED

FORMAT = 1
CONFIG, WEIGHTS, TRAINING, CARD = "config.json", "model.safetensors", "training.safetensors", "MODEL_CARD.md"


def save_model(model: NPI, folder: Path, training: Mapping[str, Any]) -> None:
    """Write a model; `training` says how it came to be."""
    description = {
        "format": FORMAT,
        "model": asdict(model.config),
        "programs": model.programs,
        "generations": model.generations,
        "tasks": model.tasks,
        "training": dict(training),
    }
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    write(folder / WEIGHTS, save(tensors))
    write(folder / CONFIG, (json.dumps(description, indent=2) + "\n").encode())


def describe(folder: Path) -> dict[str, Any]:
    """What config.json says of a model, checked."""
    path = folder / CONFIG
    if not path.is_file():
        raise BadInput(
            f"{folder} holds no model: there is no {CONFIG} in it. Train one with: npi train ... --out {folder}"
        )
    try:
        description = json.loads(path.read_text())
    except ValueError as error:
        raise BadInput(f"{path} is not JSON ({error}): copy the model again or train it anew") from error
    kinds = {"format": int, "model": dict, "programs": list, "tasks": dict, "training": dict}
    for key, kind in kinds.items():
        if not isinstance(description, dict) or not isinstance(description.get(key), kind):
            raise BadInput(f"{path} does not describe a model of this package: it says nothing usable under {key!r}")
    if description["format"] != FORMAT:
        raise BadInput(f"{path} has format {description['format']}; this version reads format {FORMAT}")
    return description


def load_model(folder: str | Path = SHIPPED, device: str | torch.device = "cpu") -> NPI:
    folder = Path(folder)
    description = describe(folder)
    try:
        config: dict[str, Any] = description["model"]
        _check_known(ModelConfig, config, folder / CONFIG)
        config = {key: tuple(value) if isinstance(value, list) else value for key, value in config.items()}
        config["captions"] = {env: tuple(sizes) for env, sizes in config.get("captions", {}).items()}
        model = NPI(ModelConfig(**config), description["programs"])
        model.generations = [int(born) for born in description.get("generations", [0] * len(model.programs))]
        model.tasks = dict(description["tasks"])
        model.history = dict(description["training"])
    except (TypeError, ValueError, KeyError, AttributeError, RuntimeError) as error:
        raise BadInput(f"{folder / CONFIG} does not describe a model of this version: {error}") from error
    tensors, _ = _read(folder / WEIGHTS)
    _fill(model, tensors, folder / WEIGHTS)
    return model.to(device).eval()


def save_pretrained(model: NPI, folder: Path) -> None:
    """Write a model with what is known of its training, and a card for readers."""
    save_model(model, folder, model.history)
    write(folder / CARD, card(describe(folder)).encode())


def load_pretrained(folder_or_repository: str | Path, device: str | torch.device = "cpu") -> NPI:
    if Path(folder_or_repository).is_dir():
        return load_model(folder_or_repository, device)
    name = str(folder_or_repository)
    if name.count("/") != 1 or name.startswith((".", "/", "~")):
        raise BadInput(f"there is no folder {name}, and it is no repository of a hub, such as someone/a-model")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise BadInput(f"there is no folder {name}; loading it from a hub needs: pip install 'npi[hub]'") from error
    try:
        return load_model(snapshot_download(name, allow_patterns=[CONFIG, WEIGHTS, CARD]), device)
    except (OSError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"there is no folder {name}, and the hub did not give it: {error}") from error


def card(description: Mapping[str, Any]) -> str:
    """A model in a reader's words, as far as its description goes."""
    tasks = ", ".join(f"{name} ({teacher} teacher)" for name, teacher in description["tasks"].items())
    training = description["training"]
    facts = "".join(f"- {key}: {value}\n" for key, value in training.items() if not isinstance(value, dict | list))
    config = training.get("config", {})
    settings = ", ".join(f"{key} {value}" for key, value in config.items())
    return (
        f"# A Neural Programmer-Interpreter\n\n"
        f"Tasks: {tasks or 'none'}.\n\n"
        f"Programs: {', '.join(description['programs'])}.\n\n"
        f"Load it with `npi.NPI.from_pretrained(FOLDER)`, run it with `npi run TASK ... --model FOLDER`.\n\n"
        f"## Training\n\n{facts}{f'- configuration: {settings}' if settings else ''}\n"
    )


def _check_known(kind: type, config: Mapping[str, Any], where: object) -> None:
    known = {field.name for field in fields(kind)}
    if odd := sorted(set(config) - known):
        raise BadInput(f"{where} was made by another version: it has settings this one does not know: {', '.join(odd)}")


def _part(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    if not path.is_file():
        raise BadInput(f"{path} is missing; the folder is not a whole model: copy it again or train it anew")
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise BadInput(f"{path} is damaged or foreign ({error}): copy it again or train it anew") from error


def _fill(model: Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    wanted = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if wanted != found:
        odd = sorted(set(wanted.items()) ^ set(found.items()))[0][0]
        raise BadInput(
            f"{path} does not hold the weights its description asks for: {odd} should be {wanted.get(odd, 'absent')} "
            f"and is {found.get(odd, 'absent')}. It belongs to another model, or was made by an earlier version"
        )
    model.load_state_dict(dict(tensors))


def holds_model(folder: Path) -> bool:
    return any((folder / name).exists() for name in (CONFIG, WEIGHTS, TRAINING))
