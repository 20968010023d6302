"""The network in float64, with a bound on the rounding error of each logit.

A proof is about the *exact network*: the function of real numbers that `npi.network.model` describes, with the stored
weights. Weights are float32, so float64 holds them without error.

Theorem. After each history, every logit of the exact network differs from the logit computed here by at most the bound
computed here. Three things are assumed:

- float64 and float32 are those of IEEE 754, rounded to nearest. Sums and matrix products may use any order, and may
  fuse multiplications with additions. (Overflow is harmless: bounds are then infinite or NaN, and settle nothing.)
- The sigmoid of torch is within SIGMOID_ERROR of the true one; division and square root within two units in the last
  place.
- The code is right, as everywhere in a proof.

The proof is by induction over the steps of a frame and the layers of the network, with one rule for each operation.
x' is a computed number and x the exact one; e_x bounds |x' - x|; u = 2^-53; all rules hold element by element.

Linear   y = W x + b. In any order of summation, the rounding of a sum of n terms is at most gamma(n) = n u / (1 - n u)
         of their absolute values. So e_y = |W| (e_x + gamma |x'|) + gamma |b|. The sum in brackets is the *reach* of x.
ReLU     never moves two numbers apart: e stays.
Product  |x' y' - x y| <= |x'| e_y + |y'| e_x + e_x e_y; add the rounding of the product itself.
Sigmoid  of an input that is off by at most a. By Taylor's formula, as |sigmoid''| < 0.1 everywhere, the result is off
         by at most a s (1 - s) + 0.05 a^2, and SIGMOID_ERROR. So a saturated gate forgives errors.
Tanh     is 2 sigmoid(2 x) - 1, and doubling is exact.
LSTM     these rules for c = f c + i g and h = o tanh(c).
Norm     sums, products, and 1 / sqrt(v), whose slope is at most half of v^(-3/2) at the smallest possible v.

Bounds are sums and products of numbers that are not negative, so float32 is enough for them: one step of a rule takes
fewer than 2^12 roundings of 2^-24 each, or products in TensorFloat-32 with two of 2^-11, and the factor INFLATE covers
either. TINY covers underflow.

Axes: B steps computed together, P parents of them, X distinct inputs (a call with its arguments, and an observation),
M LSTM width, I inputs and O outputs of a layer, F fields of an observation, A arguments of a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Float32, Float64, Int
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from npi.network.decision import Logits
from npi.network.encoders import FieldEncoder
from npi.network.model import NPI, MultiplicativeLinear
from npi.proof.histories import Histories

UNIT = 2.0**-53  # u, the unit roundoff of float64
SIGMOID_ERROR = 8 * UNIT  # absolute; eight units in the last place of a number between 1/2 and 1
INFLATE = 1 + 2.0**-6  # of each step of the bounds
TINY = 1e-30  # more than underflow can take from a bound
INPUTS_AT_ONCE = 1 << 10  # encoded together, which limits the memory for what lies between

State = tuple[Tensor, ...]  # of each LSTM layer: h, c, the bounds of c, and the reach of h


def gamma(terms: int) -> float:
    """The largest relative error of a sum. A few more terms allow for what is rounded before and after it."""
    n = terms + 16
    return n * UNIT / (1 - n * UNIT)


class Bounded(NamedTuple):
    """Computed vectors, and a bound on the distance of each element from the exact one."""

    value: Float64[Tensor, "B I"]
    error: Float32[Tensor, "B I"]


class BoundedLinear:
    """A linear layer. `terms` is the number of terms of the sum that its outputs are part of, if it is not its own."""

    def __init__(self, weight: Float[Tensor, "O I"], biases: Sequence[Float[Tensor, " O"]] = (), terms: int = 0):
        self.gamma = gamma(max(terms, weight.shape[1] + len(biases)))
        self.weight = weight.double().T
        self.sizes = weight.float().abs().T
        zero = torch.zeros_like(self.weight[0])
        self.bias = sum((bias.double() for bias in biases), zero)
        self.constant = (self.gamma * sum((bias.double().abs() for bias in biases), zero)).float() + TINY

    @staticmethod
    def of(linear: nn.Linear) -> BoundedLinear:
        return BoundedLinear(linear.weight, () if linear.bias is None else (linear.bias,))

    def value(self, x: Float64[Tensor, "B I"]) -> Float64[Tensor, "B O"]:
        return torch.addmm(self.bias, x, self.weight)

    def error(self, reach: Float32[Tensor, "B I"]) -> Float32[Tensor, "B O"]:
        return torch.addmm(self.constant, reach, self.sizes, alpha=INFLATE)

    def add_to(self, value: Tensor, error: Tensor, x: Float64[Tensor, "B I"], reach: Float32[Tensor, "B I"]) -> None:
        """Add the output of a layer without biases, and its bound, to other numbers."""
        value.addmm_(x, self.weight)
        error.addmm_(reach, self.sizes, alpha=INFLATE)

    def __call__(self, x: Bounded) -> Bounded:
        reach = x.error.add(x.value.abs().float(), alpha=self.gamma)
        return Bounded(self.value(x.value), self.error(reach))


class BoundedLSTMLayer:
    """One layer of the LSTM. The rows of gate g are doubled, so that all four gates are sigmoids."""

    def __init__(self, weights: Sequence[Tensor]):
        from_input, from_hidden, *biases = (tensor.double() for tensor in weights)
        width = from_hidden.shape[1]
        double = torch.ones_like(biases[0])
        double[2 * width : 3 * width] = 2  # torch's order of gates is i, f, g, o
        terms = from_input.shape[1] + width + len(biases)
        self.input = BoundedLinear(from_input * double[:, None], (), terms)
        self.hidden = BoundedLinear(from_hidden * double[:, None], [bias * double for bias in biases], terms)

    def recurrent(
        self, hidden: Tensor, reach: Tensor, parents: Int[Tensor, " B"], more: Tensor | float = 0.0
    ) -> tuple[Float64[Tensor, "B _"], Float32[Tensor, "B _"]]:
        """What h before a step adds to the gates, and the bounds of that and of what `more` stands for.

        `hidden` and `reach` hold h and its reach for each parent, and `parents` the row of each step's parent in them:
        products are computed once per parent.
        """
        error = self.hidden.error(reach).add_(more)
        return self.hidden.value(hidden).index_select(0, parents), error.index_select(0, parents)

    def update(
        self,
        gates: Float64[Tensor, "B _"],
        off: Float32[Tensor, "B _"],
        cell: Float64[Tensor, "B M"],
        cell_error: Float32[Tensor, "B M"],
        gamma: float,
    ) -> State:
        """The state after a step, from the inputs of its gates and the cells before. `gamma` is for the new reach.

        INFLATE enters once for each bound that is returned, and covers the roundings of all that leads to it.
        """
        gates.sigmoid_()
        near = gates.float()
        errors = sigmoid_error(near, off)
        i, f, g, o = gates.chunk(4, 1)
        i_near, f_near, _, o_near = near.chunk(4, 1)
        i_error, f_error, g_error, o_error = errors.chunk(4, 1)
        g, g_error = tanh_from_sigmoid(g, g_error)
        size = cell.abs().float()
        error = f_error * (size + cell_error)
        error.addcmul_(f_near, cell_error).addcmul_(i_near, g_error)
        error.addcmul_(i_error, g.abs().float().add_(g_error))
        error.add_(size, alpha=4 * UNIT).add_(4 * UNIT).mul_(INFLATE)  # the rounding of f c + i g
        cell = (f * cell).addcmul_(i, g)
        squashed = (2 * cell).sigmoid_()
        t, t_error = tanh_from_sigmoid(squashed, sigmoid_error(squashed.float(), 2 * error))
        hidden = o * t
        h_error = (o_near * t_error).addcmul_(o_error, t.abs().float().add_(t_error)).add_(2 * UNIT)
        return hidden, cell, error, h_error.add_(hidden.abs().float(), alpha=gamma).mul_(INFLATE)


def sigmoid_error(near: Float32[Tensor, "B O"], off: Float32[Tensor, "B O"]) -> Float32[Tensor, "B O"]:
    """Bounds for sigmoids s of numbers that are off by at most `off`. `near` is s, rounded to float32.

    Two things make up for rounding: s - (1 - 2^-18) s^2 is more than the slope by more than float32 takes away (or,
    below s = 1/60, by less than INFLATE allows for), and 0.0501 is more than the 0.05 of Taylor's formula by enough for
    SIGMOID_ERROR in the slope, if `off` is above 1; if not, the last term is.
    """
    slope = torch.addcmul(near, near, near, value=2.0**-18 - 1).add_(off, alpha=0.0501)
    return slope.mul_(off).add_(4 * SIGMOID_ERROR)


def tanh_from_sigmoid(
    s: Float64[Tensor, "B M"], error: Float32[Tensor, "B M"]
) -> tuple[Float64[Tensor, "B M"], Float32[Tensor, "B M"]]:
    """2 s - 1, with bounds. The difference is rounded once, by at most u."""
    return 2 * s - 1, 2 * error + 2 * UNIT


class BoundedEncoder:
    """Encoder and fusion: the input of the LSTM."""

    def __init__(self, model: NPI, env: str):
        encoder = model.encoders[env]
        assert isinstance(encoder, FieldEncoder)
        self.offsets, self.rows, self.bias = encoder.offsets, encoder.rows.weight.double(), encoder.bias.double()
        self.out, self.fusion, self.embeddings = encoder.out, model.fusion, model.embeddings.double()

    def __call__(
        self, observation: Int[Tensor, "B F"], args: Int[Tensor, "B A"], programs: Int[Tensor, " B"]
    ) -> Bounded:
        bag = torch.cat([observation, args], 1) + self.offsets
        hidden = embedding_bag(bag, self.rows, mode="sum") + self.bias
        sizes = embedding_bag(bag, self.rows.abs(), mode="sum") + self.bias.abs()
        error = (gamma(bag.shape[1]) * INFLATE * sizes).float()
        x = beside(BoundedLinear.of(self.out)(Bounded(hidden.relu(), error)), self.embeddings[programs])
        for layer in self.fusion:
            if isinstance(layer, nn.ReLU):
                x = Bounded(x.value.relu(), x.error)
            elif isinstance(layer, MultiplicativeLinear):
                x = multiplicative(layer, x)
            else:
                assert isinstance(layer, nn.Linear)
                x = BoundedLinear.of(layer)(x)
        return x


def beside(x: Bounded, exact: Float64[Tensor, "B _"]) -> Bounded:
    """Vectors with exact ones beside them."""
    return Bounded(torch.cat([x.value, exact], 1), torch.cat([x.error, torch.zeros_like(exact, dtype=torch.float)], 1))


def multiplicative(layer: MultiplicativeLinear, x: Bounded) -> Bounded:
    """A MultiplicativeLinear, line by line as its `forward`. The program in `x` is exact."""
    width, _ = layer.widths
    state, program = normalise(layer.norm, Bounded(x.value[:, :width], x.error[:, :width])), x.value[:, width:]
    linear = BoundedLinear.of(layer.linear)(beside(state, program))
    p = BoundedLinear.of(layer.state_factor)(state)
    q = BoundedLinear.of(layer.program_factor)(Bounded(program, x.error[:, width:]))
    product = p.value * q.value
    error = linear.error + p.value.abs() * q.error + (q.value.abs() + q.error) * p.error
    rounding = 4 * UNIT * (product.abs() + linear.value.abs()) + TINY
    return Bounded(product + linear.value, ((error + rounding) * INFLATE).float())


def normalise(norm: nn.LayerNorm, x: Bounded) -> Bounded:
    """A LayerNorm."""
    value, error, rounding = x.value, x.error.double(), gamma(x.value.shape[1])

    def mean(terms: Tensor) -> Tensor:
        return terms.mean(1, keepdim=True)

    centred = value - mean(value)
    off = error + mean(error) + rounding * (value.abs() + mean(value.abs()))
    squares = mean(centred**2)
    squares_off = (mean(off * (2 * centred.abs() + off)) + rounding * squares + TINY) * INFLATE
    variance = squares + norm.eps
    scale = 1 / variance.sqrt()
    lowest = (variance - squares_off).clamp_min(norm.eps)
    scale_off = squares_off / (2 * lowest * lowest.sqrt()) + 16 * UNIT * scale
    weight, bias = norm.weight.double(), norm.bias.double()
    product = centred * scale * weight
    product_off = weight.abs() * (scale * off + (centred.abs() + off) * scale_off)
    last = 4 * UNIT * (product.abs() + bias.abs()) + TINY
    return Bounded(product + bias, ((product_off + last) * INFLATE).float())


class BoundedNetwork:
    """The network after each of some histories, step by step from the states after their parents.

    Many histories end in the same call and observation. Each distinct pair is encoded, and multiplied with the weights
    of the first LSTM layer, once.
    """

    @torch.inference_mode()
    def __init__(self, model: NPI, env: str, histories: Histories):
        self.model, self.device = model, model.keys.device
        self.layers = [BoundedLSTMLayer(weights) for weights in model.lstm.all_weights]
        heads = (model.end_head, model.program_head, model.args_head)
        self.heads = BoundedLinear(torch.cat([head.weight for head in heads]), [torch.cat([h.bias for h in heads])])
        self.keys = BoundedLinear(model.keys)
        self.gamma = max(layer.input.gamma for layer in self.layers)  # that of the longest sum over an h
        self._encode(env, histories)

    def _encode(self, env: str, histories: Histories) -> None:
        number: dict[Any, int] = {}  # of each distinct input
        pairs = zip(histories.call, histories.observation, strict=True)
        self.input = torch.tensor([number.setdefault(pair, len(number)) for pair in pairs], device=self.device)
        row = {name: index for index, name in enumerate(self.model.programs)}
        self.programs = torch.tensor([row[call.program] for call, _ in number], device=self.device)
        args = torch.tensor([call.args for call, _ in number], device=self.device)
        observations = torch.tensor([observation for _, observation in number], dtype=torch.long, device=self.device)
        encode, project = BoundedEncoder(self.model, env), self.layers[0].input
        parts = [
            project(encode(observations[part], args[part], self.programs[part]))
            for part in torch.arange(len(number), device=self.device).split(INPUTS_AT_ONCE)
        ]
        values, errors = zip(*parts, strict=True)
        self.projected: Float64[Tensor, "X _"] = torch.cat(values)
        # One bound for all inputs: these bounds differ little, and those of the recurrence are far larger.
        self.projected_error: Float32[Tensor, "1 _"] = torch.cat(errors).amax(0, keepdim=True)

    def start(self) -> State:
        """The zero state in which a frame starts, as that of one parent. It is exact."""
        zero = torch.zeros(1, self.model.config.lstm_width, device=self.device)
        return (zero.double(), zero.double(), zero, zero) * len(self.layers)

    @torch.inference_mode()
    def step(self, nodes: Int[Tensor, " B"], state: State, parents: Int[Tensor, " B"]) -> tuple[Logits, Logits, State]:
        """The logits after some histories, the bounds of their errors, and the states.

        `state` holds the states of the nodes' parents, and `parents` the row of each node's parent in it.
        """
        inputs = self.input[nodes]
        after: list[Tensor] = []
        for index, layer in enumerate(self.layers):
            hidden, cell, cell_error, reach = state[4 * index : 4 * index + 4]
            if index:
                gates, off = layer.recurrent(hidden, reach, parents)
                layer.input.add_to(gates, off, after[-4], after[-1])
            else:
                gates, off = layer.recurrent(hidden, reach, parents, self.projected_error)
                gates.add_(self.projected.index_select(0, inputs))
            cells = cell.index_select(0, parents), cell_error.index_select(0, parents)
            after.extend(layer.update(gates, off, *cells, self.gamma))
        hidden, reach = after[-4], after[-1]
        sizes = (1, self.model.config.key_width, *self.model.config.argument_sizes)
        stop, key, *args = self.heads.value(hidden).split(sizes, 1)
        stop_error, key_error, *args_error = self.heads.error(reach).split(sizes, 1)
        scores, scores_error = self.keys(Bounded(key, key_error))
        scores = self.model.best_keys(self.model.mask(scores, self.programs[inputs]))
        scores_error = self.model.best_keys(scores_error)  # the largest of two numbers is off by no more than they are
        logits = Logits(stop[:, 0], scores, tuple(args))
        return logits, Logits(stop_error[:, 0], scores_error, tuple(args_error)), tuple(after)
