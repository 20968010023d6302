"""The network of the paper's section 3: encoders, fusion, LSTM core, program memory and heads.

State goes in and comes out; the model itself remembers nothing between steps. docs/paper-map.md names the line of each
equation. Axes:

B  steps computed together          D  width of the state encoding s_t      N  programs in memory
T  time steps of frames             P  width of a program embedding p_t     K  width of a program key k_t
R  keys in memory
L  LSTM layers                      M  LSTM width                           F  fields of an observation
A  arguments of a call              J  frames side by side                  I  images
H  side of an image                 G  width of the image features
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding
from torch.nn.utils.rnn import PackedSequence

from npi.errors import BadInput
from npi.language.env import Env
from npi.language.image import IMAGE_SIDE
from npi.network.decision import Logits
from npi.network.encoders import FieldEncoder, ImageEncoder


@dataclass(frozen=True)
class ModelConfig:
    """Everything needed to rebuild the network; the LSTM widths are the paper's.

    argument_sizes  how many values each argument of a call has
    fields          environment name -> field of its observation -> number of values
    image_sides     environment name -> side of the images it shows, in pixels
    label_sizes     environment name -> how many classes each auxiliary label of an image has
    label_bottleneck  whether the image features are the predicted probabilities of the auxiliary labels
    fusion_width    width of the fusion's hidden layer; if `teachable`, of its output
    teachable       whether new programs can be taught by memory rows. The fusion is then one `MultiplicativeLinear`
                    layer without a second linear layer, and the model stores the mean and principal axes of the
                    embeddings of practice programs: the prior of the embeddings that teaching searches for
    encoder_width   width of the hidden layer of each `FieldEncoder`
    image_width     width of the image features; with the bottleneck, of the layer below it
    """

    argument_sizes: tuple[int, ...]
    fields: dict[str, dict[str, int]] = field(default_factory=dict)
    image_sides: dict[str, int] = field(default_factory=dict)
    label_sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    label_bottleneck: bool = True
    lstm_width: int = 256
    fusion_width: int = 256
    teachable: bool = False
    lstm_layers: int = 2
    state_width: int = 128
    embedding_width: int = 128
    key_width: int = 32
    encoder_width: int = 256
    image_width: int = 256
    image_channels: tuple[int, ...] = (16, 48, 96)

    def image_features_width(self, env: str) -> int:
        """The width of the image features of an environment: 0 if it shows no image."""
        if env not in self.image_sides:
            return 0
        labels = sum(self.label_sizes.get(env, ()))
        return labels if labels and self.label_bottleneck else self.image_width

    @staticmethod
    def of(environments: Iterable[type[Env]], **widths: Any) -> ModelConfig:
        """The configuration that fits these environments."""
        environments = list(environments)
        argument_sizes = tuple(map(max, zip(*(env.argument_sizes() for env in environments), strict=True)))
        fields = {env.__name__: env.fields() for env in environments}
        image_sides = {env.__name__: IMAGE_SIDE for env in environments if env.shows_image()}
        label_sizes = {env.__name__: env.label_sizes() for env in environments if env.shows_image()}
        return ModelConfig(argument_sizes, fields, image_sides, label_sizes, **widths)


class MemoryRows(NamedTuple):
    """Rows of program memory."""

    keys: Float[Tensor, "N K"]  # M_key
    embeddings: Float[Tensor, "N P"]  # M_prog


class EmbeddingPrior(NamedTuple):
    """A normal distribution of program embeddings.

    Column i of `axes` is principal axis i, times the standard deviation along it.
    """

    mean: Float[Tensor, " P"]
    axes: Float[Tensor, "P P"]

    @staticmethod
    def of(embeddings: Float[Tensor, "N P"]) -> EmbeddingPrior:
        """The distribution fitted to some embeddings."""
        mean = embeddings.mean(0)
        variances, directions = torch.linalg.eigh((embeddings - mean).T.cov())
        return EmbeddingPrior(mean, directions * variances.clamp_min(0).sqrt())


class HeadOutputs(NamedTuple):
    """The outputs of the three heads. `NPI.logits` compares the key with the keys in memory to score the programs."""

    stop: Float[Tensor, " B"]  # r_t before the sigmoid
    key: Float[Tensor, "B K"]  # k_t
    args: tuple[Float[Tensor, "B _"], ...]  # a_{t+1}


LSTMState = tuple[Float[Tensor, "L J M"], Float[Tensor, "L J M"]]


class ExtraKey(NamedTuple):
    """A further key of a program, by which programs of a generation, and later ones, find it too."""

    program: str
    generation: int


def mask_newer_keys(
    scores: Float[Tensor, "B R"], programs: Int[Tensor, " B"], generations: Sequence[int], extra: Sequence[int]
) -> Float[Tensor, "B R"]:
    """Mask the scores of keys that are of a later generation than the running program.

    Programs trained with the core are generation 0; each time teaching adds programs, they are the next generation
    (with rehearsal: the current one). So a program cannot call newer ones, and does not see the extra keys by which
    newer programs find old ones. `generations` are those of the programs, and of their own keys; `extra` those of the
    extra keys.
    """
    rows = [*generations, *extra]
    if not any(rows):
        return scores
    key, caller = (torch.tensor(numbers, device=scores.device) for numbers in (rows, generations))
    return scores.masked_fill(key > caller[programs, None], -torch.inf)


def best_of_keys(values: Float[Tensor, "B R"], count: int, extra: Sequence[int]) -> Float[Tensor, "B N"]:
    """The largest value among the keys of each of `count` programs; `extra` are the programs of the extra keys."""
    columns = list(values[:, :count].unbind(1))
    for program, value in zip(extra, values[:, count:].unbind(1), strict=True):
        columns[program] = torch.maximum(columns[program], value)
    return torch.stack(columns, 1) if extra else values


class MultiplicativeLinear(nn.Module):
    """A linear layer of state and program, plus the product of a projection of each.

    The product lets a program embedding select the parts of the state that the program depends on.
    """

    def __init__(self, state_width: int, embedding_width: int, out_width: int):
        super().__init__()
        self.widths = [state_width, embedding_width]
        self.norm = nn.LayerNorm(state_width)
        self.linear = nn.Linear(state_width + embedding_width, out_width)
        self.state_factor = nn.Linear(state_width, out_width)
        self.program_factor = nn.Linear(embedding_width, out_width, bias=False)

    def forward(self, state_and_program: Float[Tensor, "B _"]) -> Float[Tensor, "B _"]:
        state, program = state_and_program.split(self.widths, 1)
        state = self.norm(state)
        return self.linear(torch.cat([state, program], 1)) + self.state_factor(state) * self.program_factor(program)


class NPI(nn.Module):
    """The Neural Programmer-Interpreter."""

    embedding_mean: Tensor
    embedding_axes: Tensor

    def __init__(self, config: ModelConfig, programs: Iterable[str] = ()):
        super().__init__()
        self.config = config
        self.encoders = nn.ModuleDict(
            {
                name: FieldEncoder(
                    fields,
                    config.argument_sizes,
                    config.image_features_width(name),
                    config.encoder_width,
                    config.state_width,
                )
                for name, fields in config.fields.items()
            }
        )
        self.image_encoders = nn.ModuleDict(
            {
                name: ImageEncoder(
                    side,
                    config.image_channels,
                    config.image_width,
                    config.label_sizes.get(name, ()),
                    config.label_bottleneck,
                )
                for name, side in config.image_sides.items()
            }
        )
        if config.teachable:
            self.fusion = nn.Sequential(
                MultiplicativeLinear(config.state_width, config.embedding_width, config.fusion_width), nn.ReLU()
            )
        else:
            self.fusion = nn.Sequential(
                nn.Linear(config.state_width + config.embedding_width, config.fusion_width),
                nn.ReLU(),
                nn.Linear(config.fusion_width, config.lstm_width),
            )
        core_input = config.fusion_width if config.teachable else config.lstm_width
        self.lstm = nn.LSTM(core_input, config.lstm_width, config.lstm_layers)
        self.end_head = nn.Linear(config.lstm_width, 1)
        self.program_head = nn.Linear(config.lstm_width, config.key_width)
        self.args_head = nn.Linear(config.lstm_width, sum(config.argument_sizes))
        self.tasks: dict[str, str] = {}  # task name -> the teacher it was learned from
        self.training_info: dict[str, Any] = {}  # how the model was trained, as config.json keeps it
        self.programs: list[str] = []
        self.generations: list[int] = []  # of each program, as in `mask_newer_keys`
        self.extra_keys: list[ExtraKey] = []
        self.keys = nn.Parameter(torch.empty(0, config.key_width))  # those of the programs, then the extra ones
        self.embeddings = nn.Parameter(torch.empty(0, config.embedding_width))
        for name in dict.fromkeys(programs):
            self.add_program(name)

        if config.teachable:
            self.register_buffer("embedding_mean", torch.zeros(config.embedding_width))
            self.register_buffer("embedding_axes", torch.eye(config.embedding_width))

    @property
    def prior(self) -> EmbeddingPrior:
        """The distribution from which teaching draws the initial embeddings of new programs."""
        if self.config.teachable:
            return EmbeddingPrior(self.embedding_mean, self.embedding_axes)
        identity = torch.eye(self.config.embedding_width).to(self.embeddings)
        return EmbeddingPrior(torch.zeros_like(self.embeddings[0]), identity)

    def add_program(
        self,
        name: str,
        key: Float[Tensor, " K"] | None = None,
        embedding: Float[Tensor, " P"] | None = None,
        generation: int = 0,
    ) -> None:
        """Give a new program a memory row, random if none is given; everything else stays as it is."""
        if name in self.programs:
            raise BadInput(
                f"the model already has a program {name}: programs are identified by name, so choose another"
            )
        count = len(self.programs)
        self.programs.append(name)
        self.generations.append(generation)
        rows = (
            ("keys", key, torch.randn(self.config.key_width) * self.config.key_width**-0.5),
            ("embeddings", embedding, torch.randn(self.config.embedding_width)),
        )
        for memory, given, random in rows:
            old: nn.Parameter = getattr(self, memory)
            row = random if given is None else given
            setattr(self, memory, nn.Parameter(torch.cat([old[:count], row[None].to(old), old[count:]]).detach()))

    def add_key(self, program: str, key: Float[Tensor, " K"], generation: int) -> None:
        """Give a program a further key; everything else stays as it is."""
        self.extra_keys.append(ExtraKey(program, generation))
        self.keys = nn.Parameter(torch.cat([self.keys, key[None].to(self.keys)]).detach())

    def encode_images(self, env: str, rgb: Float[Tensor, "I 3 H H"]) -> Float[Tensor, "I G"]:
        """Image features. Encode each distinct image once, however many steps show it."""
        return self.image_encoders[env](rgb)  # f_CNN(x)

    def encode(
        self,
        env: str,
        observation: Int[Tensor, "B F"],
        args: Int[Tensor, "B A"],
        image_features: Float[Tensor, "B G"] | None = None,
    ) -> Float[Tensor, "B D"]:
        """State encodings of the observations of one environment."""
        return self.encoders[env](observation, args, image_features)  # s_t = f_enc(e_t, a_t)

    def fuse(self, encoded: Float[Tensor, "B D"], embedded: Float[Tensor, "B P"]) -> Float[Tensor, "B _"]:
        """The input of the LSTM, from state encodings and program embeddings."""
        return self.fusion(torch.cat([encoded, embedded], 1))

    def run_frames(
        self, encoded: Float[Tensor, "B D"], embedded: Float[Tensor, "B P"], batch_sizes: Int[Tensor, " T"]
    ) -> Float[Tensor, "B M"]:
        """The LSTM's outputs at every step of whole frames, packed as in a `PackedSequence`."""
        packed, _ = self.lstm(PackedSequence(self.fuse(encoded, embedded), batch_sizes))
        return packed.data  # h_t = f_lstm(s_t, p_t, h_{t-1})

    def heads(self, hidden: Float[Tensor, "B M"]) -> HeadOutputs:
        """What the three heads compute from the LSTM's outputs."""
        stop = self.end_head(hidden).squeeze(1)  # r_t = f_end(h_t)
        key = self.program_head(hidden)  # k_t = f_prog(h_t)
        args = self.args_head(hidden)  # a_{t+1} = f_arg(h_t)
        return HeadOutputs(stop, key, args.split(self.config.argument_sizes, dim=1))

    def logits(self, hidden: Float[Tensor, "B M"], programs: Int[Tensor, " B"]) -> Logits:
        """The heads' outputs, with each key matched against the model's own memory."""
        stop, key, args = self.heads(hidden)
        return Logits(stop, self.best_keys(self.mask(key @ self.keys.T, programs)), args)

    def mask(self, scores: Float[Tensor, "B R"], programs: Int[Tensor, " B"]) -> Float[Tensor, "B R"]:
        """The scores of keys, masked where the running program cannot use them."""
        return mask_newer_keys(scores, programs, self.generations, [key.generation for key in self.extra_keys])

    def best_keys(self, values: Float[Tensor, "B R"]) -> Float[Tensor, "B N"]:
        """The largest value among the keys of each program."""
        return best_of_keys(values, len(self.programs), [self.programs.index(key.program) for key in self.extra_keys])

    def frame_logits(
        self, encoded: Float[Tensor, "B D"], programs: Int[Tensor, " B"], batch_sizes: Int[Tensor, " T"]
    ) -> Logits:
        """The logits at every step of whole frames."""
        # Indexing gives the same values, but its backward pass adds gradients in no fixed order.
        embedded = embedding(programs, self.embeddings)  # p_t = M_prog[i_t]
        return self.logits(self.run_frames(encoded, embedded, batch_sizes), programs)

    def step(
        self,
        env: str,
        observation: Int[Tensor, "B F"],
        args: Int[Tensor, "B A"],
        programs: Int[Tensor, " B"],
        state: LSTMState,
        image_features: Float[Tensor, "B G"] | None = None,
    ) -> tuple[Logits, LSTMState]:
        """One step of many frames of one environment."""
        encoded = self.encode(env, observation, args, image_features)
        hidden = self.fuse(encoded, self.embeddings[programs])  # p_t = M_prog[i_t]
        after = []
        # Cell by cell: at batch size 1, nn.LSTM takes ten times as long.
        for weights, *before in zip(self.lstm.all_weights, *state, strict=True):
            hidden, cell = torch.lstm_cell(hidden, before, *weights)
            after.append((hidden, cell))
        hiddens, cells = map(torch.stack, zip(*after, strict=True))
        return self.logits(hidden, programs), (hiddens, cells)
