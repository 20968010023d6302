"""Models on disk: safetensors and JSON, never pickle.

A model is a folder:
    config.json         enough to rebuild the network: its configuration, programs, tasks and how it was trained
    model.safetensors   its weights
    MODEL_CARD.md       the same for readers

Each file is written under a temporary name and then renamed, so a crash or a full disk leaves the old file intact.
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
from npi.network.pretrained import DEFAULT_MODEL

FORMAT = 2  # of config.json; versions before 0.2 wrote format 1
CONFIG, WEIGHTS, CARD = "config.json", "model.safetensors", "MODEL_CARD.md"
SHIPPED = "default"  # the name of the model that comes with npi


def save_model(model: NPI, folder: Path, training_info: Mapping[str, Any] | None = None) -> None:
    """Write a model to a folder. `training_info`, if given, is stored in place of the model's own `training_info`."""
    description = {
        "format": FORMAT,
        "model": asdict(model.config),
        "programs": model.programs,
        "generations": model.generations,
        "extra_keys": model.extra_keys,
        "tasks": model.tasks,
        "training": dict(model.training_info if training_info is None else training_info),
    }
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    write(folder / WEIGHTS, save(tensors))
    write(folder / CONFIG, (json.dumps(description, indent=2) + "\n").encode())
    write(folder / CARD, model_card(description).encode())


def read_description(folder: Path) -> dict[str, Any]:
    """The contents of a model's config.json, checked."""
    path = folder / CONFIG
    if not path.is_file():
        raise BadInput(
            f"{folder} holds no model: there is no {CONFIG} in it. Train one with: npi train ... --out {folder}"
        )
    try:
        description = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise BadInput(f"{path} is not JSON ({error}): copy the model again or train it anew") from error
    kinds = {"format": int, "model": dict, "programs": list, "tasks": dict, "training": dict}
    for key, kind in kinds.items():
        if not isinstance(description, dict) or not isinstance(description.get(key), kind):
            raise BadInput(
                f"{path} does not describe a model of this package: its entry {key!r} is missing or unusable"
            )
    if description["format"] != FORMAT:
        raise BadInput(
            f"{path} has format {description['format']}; this version reads format {FORMAT}. Train the model anew, or "
            f"use the version of npi that wrote it"
        )
    return description


def load_model(folder: str | Path = DEFAULT_MODEL, device: str | torch.device = "cpu") -> NPI:
    """The model in a folder."""
    folder = Path(folder)
    description = read_description(folder)
    try:
        config: dict[str, Any] = description["model"]
        check_known_keys(ModelConfig, config, folder / CONFIG)
        config = {key: tuple(value) if isinstance(value, list) else value for key, value in config.items()}
        config["label_sizes"] = {env: tuple(sizes) for env, sizes in config.get("label_sizes", {}).items()}
        model = NPI(ModelConfig(**config), description["programs"])
        model.generations = [int(number) for number in description.get("generations", [0] * len(model.programs))]
        for program, generation in description.get("extra_keys", []):
            model.add_key(program, model.keys[model.programs.index(program)], int(generation))
        model.tasks = dict(description["tasks"])
        model.training_info = dict(description["training"])
    except (TypeError, ValueError, KeyError, AttributeError, RuntimeError) as error:
        raise BadInput(f"{folder / CONFIG} does not describe a model of this version: {error}") from error
    tensors, _ = read_tensors(folder / WEIGHTS)
    fill(model, tensors, folder / WEIGHTS)
    return model.to(device).eval()


def load(name_or_folder: str | Path = SHIPPED, device: str | torch.device = "auto") -> NPI:
    """Load a trained model.

    name_or_folder  "default", the model that comes with npi; a folder written by `train` or `teach`; or a repository of
                    the Hugging Face hub, such as "someone/a-model"
    device          "cpu", "cuda", or "auto": CUDA if there is any

    >>> import npi
    >>> model = npi.load()
    >>> sorted(model.tasks)
    ['addition', 'cars', 'sorting']
    """
    device = resolve_device(device)
    if name_or_folder == SHIPPED:
        return load_model(DEFAULT_MODEL, device)
    if Path(name_or_folder).is_dir():
        return load_model(name_or_folder, device)
    name = str(name_or_folder)
    if name.count("/") != 1 or name.startswith((".", "/", "~")):
        raise BadInput(f"there is no folder {name}, and it is no hub repository either, such as someone/a-model")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise BadInput(f"there is no folder {name}; loading it from a hub needs: pip install 'npi[hub]'") from error
    try:
        return load_model(snapshot_download(name, allow_patterns=[CONFIG, WEIGHTS, CARD]), device)
    except (OSError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"there is no folder {name}, and loading it from the hub failed: {error}") from error


def resolve_model(model: NPI | str | Path | None, device: str | torch.device = "auto") -> NPI:
    """The model itself if it is one; otherwise load it by folder or name. None means the model that comes with npi."""
    return model if isinstance(model, NPI) else load(SHIPPED if model is None else model, device)


def resolve_device(device: str | torch.device) -> torch.device:
    """The device that a name means; "auto" means CUDA if there is any."""
    if device == "cuda" and not torch.cuda.is_available():
        raise BadInput("there is no CUDA device here: choose the device cpu, or leave the choice to auto")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)


def model_card(description: Mapping[str, Any]) -> str:
    """The text of MODEL_CARD.md, made from the contents of config.json."""
    tasks = ", ".join(f"{name} ({teacher} teacher)" for name, teacher in description["tasks"].items())
    training = description["training"]
    facts = "".join(f"- {key}: {value}\n" for key, value in training.items() if not isinstance(value, dict | list))
    config = training.get("config", {})
    settings = ", ".join(f"{key} {value}" for key, value in config.items())
    return (
        f"# A Neural Programmer-Interpreter\n\n"
        f"Tasks: {tasks or 'none'}.\n\n"
        f"Programs: {', '.join(description['programs'])}.\n\n"
        f"Load it with `npi.load(FOLDER)`, run it with `npi run TASK ... --model FOLDER`.\n\n"
        f"## Training\n\n{facts}{f'- configuration: {settings}' if settings else ''}\n"
    )


def check_known_keys(kind: type, config: Mapping[str, Any], where: object) -> None:
    """Raise BadInput if a configuration has keys that this version does not know."""
    known = {field.name for field in fields(kind)}
    if unknown := sorted(set(config) - known):
        raise BadInput(
            f"{where} was written by another version: it has settings this one does not know: {', '.join(unknown)}"
        )


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a safetensors file, and its metadata."""
    if not path.is_file():
        raise BadInput(f"{path} is missing; the folder is not a whole model: copy it again or train it anew")
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise BadInput(
            f"{path} is damaged, or not a safetensors file ({error}): copy it again or train it anew"
        ) from error


def fill(module: Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Load tensors into a module, which must have exactly these names and shapes."""
    wanted = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if wanted != found:
        differing = sorted(set(wanted.items()) ^ set(found.items()))[0][0]
        raise BadInput(
            f"{path} does not hold the weights its description asks for: {differing} should be "
            f"{wanted.get(differing, 'absent')} and is {found.get(differing, 'absent')}. It belongs to another "
            f"model, or was written by an earlier version"
        )
    module.load_state_dict(dict(tensors))


def holds_model(folder: Path) -> bool:
    """Whether a folder has any file of a model in it."""
    return any((folder / name).exists() for name in (CONFIG, WEIGHTS))
