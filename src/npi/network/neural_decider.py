"""The network as a decider."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from npi.language.env import Env
from npi.language.image import Image
from npi.language.interpreter import FrameState, Query, Reply
from npi.language.program import Call, Observation
from npi.network.decision import Decisions, decide
from npi.network.encoders import to_rgb
from npi.network.model import NPI

IMAGES_AT_ONCE = 64  # encoded in one forward pass


class NeuralDecider:
    """Answers the interpreter's queries about one environment, all queries in one forward pass.

    The state of a frame is the LSTM state after its last step, as an array of its own: it can be kept, shared between
    runs and continued from more than once.
    """

    def __init__(self, model: NPI, env: type[Env]):
        self.model, self.env = model.eval(), env.__name__
        self.device = model.keys.device
        self.row = {name: index for index, name in enumerate(model.programs)}
        self.calls: dict[tuple[int, ...], Call] = {}  # by memory row and arguments
        self.shows_image = env.shows_image()
        self.encoded_images: dict[bytes, torch.Tensor] = {}  # by an image's digest
        config = model.config
        self.zero_state = np.zeros((2, config.lstm_layers, config.lstm_width), dtype=np.float32)

    def cached(self, observation: Observation, call: Call, state: FrameState) -> Reply | None:
        """Nothing: this decider stores no answers."""
        return None

    @torch.inference_mode()
    def decide(self, queries: list[Query]) -> list[Reply]:
        observations, calls, states = zip(*queries, strict=True)
        state = np.stack([self.zero_state if state is None else state for state in states], axis=2)  # [2, L, B, M]
        h, c = torch.from_numpy(state).to(self.device)
        images = self.image_features([observation[-1] for observation in observations]) if self.shows_image else None
        logits, (h, c) = self.model.step(
            self.env,
            self.tensor([fields[:-1] for fields in observations] if self.shows_image else observations),
            self.tensor([call.args for call in calls]),
            self.tensor([self.row[call.program] for call in calls]),
            (h, c),
            images,
        )
        after = torch.stack([h, c]).permute(2, 0, 1, 3).cpu().numpy()  # [B, 2, L, M]
        return [(decision, after[index].copy()) for index, decision in enumerate(self.as_calls(decide(logits)))]

    def image_features(self, images: list[Image]) -> torch.Tensor:
        """Image features; each distinct image is encoded once and remembered."""
        new = [image for image in dict.fromkeys(images) if image.digest not in self.encoded_images]
        for start in range(0, len(new), IMAGES_AT_ONCE):
            part = new[start : start + IMAGES_AT_ONCE]
            pixels = torch.from_numpy(np.stack([image.pixels for image in part])).permute(0, 3, 1, 2)
            features = self.model.encode_images(self.env, to_rgb(pixels.to(self.device)))
            self.encoded_images.update(zip((image.digest for image in part), features, strict=True))
        return torch.stack([self.encoded_images[image.digest] for image in images])

    def tensor(self, values: Sequence) -> torch.Tensor:
        return torch.from_numpy(np.array(values, dtype=np.int64)).to(self.device)

    def as_calls(self, decisions: Decisions) -> list[Call | None]:
        """Decisions as the interpreter takes them: a call, or None to return."""
        rows = torch.cat([decisions.program[:, None], decisions.args], 1).tolist()
        return [None if stop else self.call(row) for stop, row in zip(decisions.stop.tolist(), rows, strict=True)]

    def call(self, row: list[int]) -> Call:
        """The call of a memory row with arguments; equal calls are one object, so that long traces stay small."""
        key = tuple(row)
        call = self.calls.get(key)
        if call is None:
            program, *args = row
            call = self.calls[key] = Call(self.model.programs[program], tuple(args))
        return call
