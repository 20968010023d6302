"""A baseline with NPI's supervision and without its structure: a transformer on flattened traces.

A run is one sequence: at each step the network sees the observation and its own last decision, and decides to act, to
call a program, or to return. It has seen the whole run, not the current frame, so it must remember by itself which
programs are open. NPI learns from the same observations and decisions, frame by frame.

Axes: B runs, T steps of a run, F fields of an observation, V distinct decisions, D width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from npi.evaluation.transformer import Block, Cache
from npi.language.env import Env
from npi.language.program import ACT, Call, Decision
from npi.language.record import record
from npi.language.task import Task
from npi.language.trace import Limits, Trace, steps_in_order

IGNORE = -100  # a padded target, on which there is no loss


@dataclass(frozen=True)
class Recording:
    """The steps of a teacher's run: what it observed, and its decisions as numbers."""

    observations: Int[np.ndarray, "T F"]
    decisions: Int[np.ndarray, " T"]


class FlatTraces:
    """The runs of a task's teacher on some problems; `decisions` are the distinct ones, by number."""

    def __init__(self, task: Task, problems: Sequence[Any]):
        self.task = task
        number: dict[Decision, int] = {task.call: 0}  # number 0 is also what a run starts with: the first call
        self.runs = []
        for problem in problems:
            steps = [step for _, step in steps_in_order(record(task.env.of(problem), task.main))]
            self.runs.append(
                Recording(
                    np.array([tuple(map(int, step.observation)) for step in steps]),
                    np.array([number.setdefault(step.decision, len(number)) for step in steps]),
                )
            )
        self.decisions = list(number)

    def batches(self, size: int, seed: int) -> Iterator[list[Recording]]:
        """Random runs without end; runs of similar length come together, so that little is padded."""
        rng = np.random.default_rng(seed)
        order = np.argsort([len(run.decisions) for run in self.runs], kind="stable")
        while True:
            first = int(rng.integers(1 - size, len(order)))  # every run is in `size` of these slices
            yield [self.runs[index] for index in order[max(0, first) : first + size]]


class FlatTransformer(nn.Module):
    """A causal transformer over the steps of a run."""

    offsets: Tensor

    def __init__(self, field_sizes: Sequence[int], decisions: Sequence[Decision], width=128, layers=4, heads=4):
        super().__init__()
        self.decisions = list(decisions)
        self.register_buffer("offsets", torch.tensor([0, *field_sizes[:-1]]).cumsum(0), persistent=False)
        self.fields = nn.EmbeddingBag(sum(field_sizes), width, mode="sum")
        self.last = nn.Embedding(len(decisions), width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.out = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, len(decisions)))

    def embed(self, observations: Int[Tensor, "B T F"], last: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        bags = (observations + self.offsets).flatten(0, 1)
        return self.fields(bags).unflatten(0, last.shape) + self.last(last)

    def forward(self, observations: Int[Tensor, "B T F"], last: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        hidden = self.embed(observations, last)
        for block in self.blocks:
            hidden = block(hidden)
        return self.out(hidden)

    def loss(self, runs: Sequence[Recording]) -> Float[Tensor, ""]:
        """The mean cross entropy of the teacher's decisions."""
        device = self.last.weight.device
        longest = max(len(run.decisions) for run in runs)
        observations = np.zeros((len(runs), longest, runs[0].observations.shape[1]), dtype=np.int64)
        target = np.full((len(runs), longest), IGNORE)
        for row, run in enumerate(runs):
            observations[row, : len(run.decisions)] = run.observations
            target[row, : len(run.decisions)] = run.decisions
        targets = torch.from_numpy(target).to(device)
        last = torch.cat([torch.zeros_like(targets[:, :1]), targets[:, :-1].clamp_min(0)], 1)
        logits = self(torch.from_numpy(observations).to(device), last)
        return cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORE)

    @torch.inference_mode()
    def run_batch(self, envs: Sequence[Env], call: Call, limits: Limits) -> list[Trace]:
        """Run the network on environments side by side, until each has returned from its first call."""
        device = self.last.weight.device
        traces = [Trace(call, []) for _ in envs]
        depth, last, live = [1] * len(envs), [0] * len(envs), list(range(len(envs)))
        caches: list[Cache | None] = [None] * len(self.blocks)
        while live:
            observed = [tuple(map(int, envs[index].observe())) for index in live]
            hidden = self.embed(
                torch.tensor(observed, device=device)[:, None],
                torch.tensor([last[index] for index in live], device=device)[:, None],
            )
            for place, block in enumerate(self.blocks):
                assert isinstance(block, Block)
                hidden, caches[place] = block.step(hidden, caches[place])
            kept = []
            for row, (index, chosen) in enumerate(zip(live, self.out(hidden)[:, 0].argmax(1).tolist(), strict=True)):
                decision, trace = self.decisions[chosen], traces[index]
                trace.decisions.append(decision)
                last[index] = chosen
                if decision is None:
                    depth[index] -= 1
                elif decision.program == ACT:
                    envs[index].act(*decision.args)
                else:
                    depth[index] += 1
                if depth[index] and len(trace.decisions) >= limits.steps:
                    trace.runaway = f"step limit of {limits.steps:,} reached"
                elif depth[index]:
                    kept.append(row)
            if len(kept) < len(live):
                rows = torch.tensor(kept, dtype=torch.long, device=device)
                caches = [cache and Cache(cache.keys[rows], cache.values[rows]) for cache in caches]
                live = [live[row] for row in kept]
        return traces


def fit_flat(
    network: FlatTransformer, traces: FlatTraces, updates: int, batch_size: int, learning_rate: float, seed: int = 0
) -> Iterator[float]:
    """Train a network on recorded runs with AdamW, along a half cosine; yield the loss after each update."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=learning_rate, weight_decay=0.0, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, updates)
    for _, runs in zip(range(updates), traces.batches(batch_size, seed), strict=False):
        loss = network.loss(runs)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        yield loss.item()
