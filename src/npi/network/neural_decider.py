"""The network as the one who decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from npi.errors import BadInput
from npi.language.env import Env
from npi.language.image import Picture
from npi.language.interpreter import Answer, Question, State
from npi.language.program import Call, Observation
from npi.language.task import Task
from npi.network.encoders import colours
from npi.network.model import NPI


class Neural:
    """Answers the interpreter's questions about one environment by forward passes, all questions in one.

    The state of a frame is the LSTM state after its last step: an array of its own, so that it can be kept, shared
    between runs and asked from again.
    """

    def __init__(self, model: NPI, env: type[Env]):
        self.model, self.env = model.eval(), env.__name__
        self.device = model.keys.device
        self.row = {name: index for index, name in enumerate(model.programs)}
        self.calls: dict[tuple[int, ...], Call] = {}
        self.shows_picture = env.shows_picture()
        self.glimpses: dict[bytes, torch.Tensor] = {}  # by a picture's digest
        config = model.config
        self.zero = np.zeros((2, config.layers, config.hidden), dtype=np.float32)

    def recall(self, seen: Observation, call: Call, state: State) -> Answer | None:
        return None

    @torch.inference_mode()
    def decide(self, questions: list[Question]) -> list[Answer]:
        seen, calls, states = zip(*questions, strict=True)
        state = np.stack([self.zero if state is None else state for state in states], axis=2)  # [2, L, B, M]
        h, c = torch.from_numpy(state).to(self.device)
        glimpse = self.glimpse([fields[-1] for fields in seen]) if self.shows_picture else None
        said, (h, c) = self.model.step(
            self.env,
            self.tensor([fields[:-1] for fields in seen] if self.shows_picture else seen),
            self.tensor([call.args for call in calls]),
            self.tensor([self.row[call.program] for call in calls]),
            (h, c),
            glimpse,
        )
        stops = (said.stop >= 0).tolist()  # r_t >= 1/2
        choices = torch.stack([said.program.argmax(1), *(logits.argmax(1) for logits in said.args)], 1).tolist()
        after = torch.stack([h, c]).permute(2, 0, 1, 3).cpu().numpy()  # [B, 2, L, M]
        return [
            (None if stop else self.call(choice), after[index].copy())
            for index, (stop, choice) in enumerate(zip(stops, choices, strict=True))
        ]

    def glimpse(self, pictures: list[Picture]) -> torch.Tensor:
        """What is seen in pictures; each is looked at once and remembered."""
        new = [picture for picture in dict.fromkeys(pictures) if picture.digest not in self.glimpses]
        for start in range(0, len(new), 64):
            part = new[start : start + 64]
            pixels = torch.from_numpy(np.stack([picture.pixels for picture in part])).permute(0, 3, 1, 2)
            seen = self.model.look(self.env, colours(pixels.to(self.device)))
            self.glimpses.update(zip((picture.digest for picture in part), seen, strict=True))
        return torch.stack([self.glimpses[picture.digest] for picture in pictures])

    def tensor(self, values: Sequence) -> torch.Tensor:
        return torch.from_numpy(np.array(values, dtype=np.int64)).to(self.device)

    def call(self, choice: list[int]) -> Call:
        """One object for each distinct call: traces of millions of calls stay small."""
        row, *args = choice
        key = tuple(choice)
        call = self.calls.get(key)
        if call is None:
            call = self.calls[key] = Call(self.model.programs[row], tuple(args))
        return call


def check_fits(model: NPI, task: Task) -> None:
    """Whether a model can run a task at all: it must know the environment as it is now, and the main program."""
    name, config = task.env.__name__, model.config
    faults = []
    if name not in config.encoders:
        faults.append(f"it has no encoder for {name}, only for {', '.join(config.encoders)}")
    elif config.encoders[name] != task.env.fields():
        faults.append(f"{name} shows {task.env.fields()}, but it was trained on {config.encoders[name]}")
    if any(has < needs for has, needs in zip(config.arguments, task.env.arguments(), strict=True)):
        faults.append(f"its arguments have {config.arguments} values, but {name} needs {task.env.arguments()}")
    if task.main.name not in model.programs:
        faults.append(f"it has no program {task.main.name}, only {', '.join(model.programs)}")
    if faults:
        raise BadInput(
            f"the model does not fit {task.name}: {'; '.join(faults)}. Train one with: npi train {task.name}"
        )
