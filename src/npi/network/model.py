"""The network of the paper's section 3: encoders, fusion, LSTM core, program memory and heads.

State goes in and comes out; the model itself remembers nothing between steps. docs/paper-map.md names the line of each
equation. Axes:

B  steps taken together             D  width of the state encoding s_t      N  programs in memory
T  time steps of frames             P  width of a program embedding p_t     K  width of a program key k_t
L  LSTM layers                      M  LSTM width                           F  fields of an observation
A  arguments of a call              J  frames side by side                  I  pictures
H  side of a picture                G  width of what is seen in one
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding
from torch.nn.utils.rnn import PackedSequence

from npi.errors import BadInput
from npi.language.env import Env
from npi.language.image import SIDE
from npi.network.encoders import FieldEncoder, PictureEncoder


@dataclass(frozen=True)
class ModelConfig:
    """Everything needed to rebuild the network; the widths of the LSTM are the paper's.

    arguments  how many values each argument of a call has
    encoders   environment name -> the fields it shows and their number of values
    pictures   environment name -> the side of the pictures it shows
    captions   environment name -> how many values each number of a caption has
    teachable  whether it is made to be taught: the fusion multiplies what is observed, normalised, with the program,
               beside putting them side by side, and all of it goes to the LSTM; what embeddings were like in practice
               is kept
    """

    arguments: tuple[int, ...]
    encoders: dict[str, dict[str, int]] = field(default_factory=dict)
    pictures: dict[str, int] = field(default_factory=dict)
    captions: dict[str, tuple[int, ...]] = field(default_factory=dict)
    hidden: int = 256
    fusion: int = 256
    teachable: bool = False
    layers: int = 2
    state: int = 128
    program: int = 128
    key: int = 32
    encoder_hidden: int = 256
    features: int = 256
    channels: tuple[int, ...] = (16, 48, 96)

    def glimpse(self, env: str) -> int:
        """How many numbers stand for what is seen in a picture of an environment, if it shows any."""
        return (sum(self.captions.get(env, ())) or self.features) if env in self.pictures else 0

    @staticmethod
    def of(environments: Iterable[type[Env]], **widths: Any) -> ModelConfig:
        """The configuration that fits these environments."""
        environments = list(environments)
        arguments = tuple(map(max, zip(*(env.arguments() for env in environments), strict=True)))
        fields = {env.__name__: env.fields() for env in environments}
        pictures = {env.__name__: SIDE for env in environments if env.shows_picture()}
        captions = {env.__name__: env.captions() for env in environments if env.shows_picture()}
        return ModelConfig(arguments, fields, pictures, captions, **widths)


@dataclass(frozen=True)
class Outputs:
    """What the heads say at each step, as logits."""

    stop: Float[Tensor, " B"]  # r_t before the sigmoid
    program: Float[Tensor, "B N"]  # M_key . k_t
    args: tuple[Float[Tensor, "B _"], ...]  # a_{t+1}, one softmax for each argument


class Memory(NamedTuple):
    """Rows of program memory."""

    keys: Float[Tensor, "N K"]  # M_key
    embeddings: Float[Tensor, "N P"]  # M_prog


class Prior(NamedTuple):
    """What embeddings are like: normally distributed about the usual one, in some directions more than in others."""

    usual: Float[Tensor, " P"]
    ways: Float[Tensor, "P P"]  # a column for each direction, as long as embeddings differ in it

    @staticmethod
    def of(embeddings: Float[Tensor, "N P"]) -> Prior:
        usual = embeddings.mean(0)
        values, directions = torch.linalg.eigh((embeddings - usual).T.cov())
        return Prior(usual, directions * values.clamp_min(0).sqrt())


LSTMState = tuple[Float[Tensor, "L J M"], Float[Tensor, "L J M"]]


def guarded(
    found: Float[Tensor, "B N"], programs: Int[Tensor, " B"], generations: Sequence[int]
) -> Float[Tensor, "B N"]:
    """What was found in memory, without what is of a later generation than the program that looks for it."""
    if not any(generations):
        return found
    born = torch.tensor(generations, device=found.device)
    return found.masked_fill(born > born[programs, None], -torch.inf)


class Product(nn.Module):
    """A linear layer that also multiplies what is observed with the program: a program can ask for any of it."""

    def __init__(self, state: int, program: int, width: int):
        super().__init__()
        self.widths = [state, program]
        self.norm = nn.LayerNorm(state)
        self.both = nn.Linear(state + program, width)
        self.observed = nn.Linear(state, width)
        self.asked = nn.Linear(program, width, bias=False)

    def forward(self, together: Float[Tensor, "B _"]) -> Float[Tensor, "B _"]:
        encoded, embedded = together.split(self.widths, 1)
        encoded = self.norm(encoded)
        return self.both(torch.cat([encoded, embedded], 1)) + self.observed(encoded) * self.asked(embedded)


class NPI(nn.Module):
    """The Neural Programmer-Interpreter."""

    usual: Tensor
    ways: Tensor

    def __init__(self, config: ModelConfig, programs: Iterable[str] = ()):
        super().__init__()
        self.config = config
        self.encoders = nn.ModuleDict(
            {
                name: FieldEncoder(
                    fields,
                    config.arguments,
                    config.glimpse(name),
                    config.encoder_hidden,
                    config.state,
                )
                for name, fields in config.encoders.items()
            }
        )
        self.eyes = nn.ModuleDict(
            {
                name: PictureEncoder(side, config.channels, config.features, config.captions.get(name, ()))
                for name, side in config.pictures.items()
            }
        )
        if config.teachable:  # the LSTM takes all that the fusion finds: a row that describes a program says much
            self.fusion = nn.Sequential(Product(config.state, config.program, config.fusion), nn.ReLU())
        else:
            self.fusion = nn.Sequential(
                nn.Linear(config.state + config.program, config.fusion),
                nn.ReLU(),
                nn.Linear(config.fusion, config.hidden),
            )
        self.lstm = nn.LSTM(config.fusion if config.teachable else config.hidden, config.hidden, config.layers)
        self.end_head = nn.Linear(config.hidden, 1)
        self.program_head = nn.Linear(config.hidden, config.key)
        self.args_head = nn.Linear(config.hidden, sum(config.arguments))
        self.tasks: dict[str, str] = {}  # the tasks it was taught, and by which of their teachers
        self.history: dict[str, Any] = {}  # how it came to be, for its description
        self.programs: list[str] = []
        self.generations: list[int] = []  # of each program: it may call those of its own and of earlier ones alone
        self.keys = nn.Parameter(torch.empty(0, config.key))
        self.embeddings = nn.Parameter(torch.empty(0, config.program))
        for name in dict.fromkeys(programs):
            self.add_program(name)

        if config.teachable:
            self.register_buffer("usual", torch.zeros(config.program))
            self.register_buffer("ways", torch.eye(config.program))

    @property
    def prior(self) -> Prior:
        """Where the embeddings of new programs are to be looked for."""
        if self.config.teachable:
            return Prior(self.usual, self.ways)
        return Prior(torch.zeros_like(self.embeddings[0]), torch.eye(self.config.program).to(self.embeddings))

    def add_program(
        self,
        name: str,
        key: Float[Tensor, " K"] | None = None,
        embedding: Float[Tensor, " P"] | None = None,
        generation: int = 0,
    ) -> None:
        """Give a new program a row of memory, at random if none is given; everything else stays as it is."""
        if name in self.programs:
            raise BadInput(f"the model has a program {name} already: a name is an identity, so choose another")
        self.programs.append(name)
        self.generations.append(generation)
        rows = (
            ("keys", key, torch.randn(self.config.key) * self.config.key**-0.5),
            ("embeddings", embedding, torch.randn(self.config.program)),
        )
        for memory, given, random in rows:
            old: nn.Parameter = getattr(self, memory)
            row = random if given is None else given
            setattr(self, memory, nn.Parameter(torch.cat([old.detach(), row[None].to(old)])))

    @classmethod
    def from_pretrained(cls, folder_or_repository: str | Path, device: str | torch.device = "cpu") -> NPI:
        """The model in a folder or, if there is no such folder, in a repository of the Hugging Face hub."""
        from npi.network.checkpoint import load_pretrained

        return load_pretrained(folder_or_repository, device)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the model to a folder that can be loaded, copied, and pushed to a hub, as it is."""
        from npi.network.checkpoint import save_pretrained

        save_pretrained(self, Path(folder))

    def look(self, env: str, colours: Float[Tensor, "I 3 H H"]) -> Float[Tensor, "I G"]:
        """What is seen in pictures; each is worth looking at once, however many steps see it."""
        return self.eyes[env](colours)  # f_CNN(x)

    def encode(
        self,
        env: str,
        seen: Int[Tensor, "B F"],
        args: Int[Tensor, "B A"],
        glimpse: Float[Tensor, "B G"] | None = None,
    ) -> Float[Tensor, "B D"]:
        return self.encoders[env](seen, args, glimpse)  # s_t = f_enc(e_t, a_t)

    def core(
        self,
        encoded: Float[Tensor, "B D"],
        programs: Int[Tensor, " B"],
        batch_sizes: Int[Tensor, " T"],
        state: LSTMState | None = None,
    ) -> tuple[Outputs, LSTMState]:
        """Advance frames from `state` by packed sequences of steps (see PackedSequence)."""
        # an index would do, but its gradients are summed in any order
        fused = self.fuse(encoded, embedding(programs, self.embeddings))  # p_t = M_prog[i_t]
        packed, after = self.lstm(PackedSequence(fused, batch_sizes), state)  # h_t = f_lstm(s_t, p_t, h_{t-1})
        return self.heads(packed.data, programs), after

    def fuse(self, encoded: Float[Tensor, "B D"], embedded: Float[Tensor, "B P"]) -> Float[Tensor, "B _"]:
        return self.fusion(torch.cat([encoded, embedded], 1))

    def heads(self, hidden: Float[Tensor, "B M"], programs: Int[Tensor, " B"]) -> Outputs:
        stop, key, args = self.say(hidden)
        return Outputs(stop, guarded(key @ self.keys.T, programs, self.generations), args)

    def say(
        self, hidden: Float[Tensor, "B M"]
    ) -> tuple[Float[Tensor, " B"], Float[Tensor, "B K"], tuple[Float[Tensor, "B _"], ...]]:
        stop = self.end_head(hidden).squeeze(1)  # r_t = f_end(h_t)
        key = self.program_head(hidden)  # k_t = f_prog(h_t)
        args = self.args_head(hidden)  # a_{t+1} = f_arg(h_t)
        return stop, key, args.split(self.config.arguments, dim=1)

    def step(
        self,
        env: str,
        seen: Int[Tensor, "B F"],
        args: Int[Tensor, "B A"],
        programs: Int[Tensor, " B"],
        state: LSTMState,
        glimpse: Float[Tensor, "B G"] | None = None,
    ) -> tuple[Outputs, LSTMState]:
        """One step of many frames of one environment."""
        fused = self.fuse(self.encode(env, seen, args, glimpse), self.embeddings[programs])  # p_t = M_prog[i_t]
        after = []
        # Not through nn.LSTM: at batch 1 it takes ten times as long.
        for weights, *before in zip(self.lstm.all_weights, *state, strict=True):
            fused, cell = torch.lstm_cell(fused, before, *weights)
            after.append((fused, cell))
        hidden, cells = map(torch.stack, zip(*after, strict=True))
        return self.heads(fused, programs), (hidden, cells)
