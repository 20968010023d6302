"""Recipes: how to train."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class TrainConfig:
    """How to train.

    batch, pictures, drill  frames per update: without pictures, with them, and of practice programs
    practice                walks through each environment, of which practice programs are made; these make the core
                            teachable, and are then dropped
    steps                   how many steps the frames of each kind may have together: fewer long frames are drawn
    updates                 give up after so many
    learning_rate, beta2, clip, warmup   Adam, the norm to which gradients are clipped, updates until the full rate
    shrink                  how strongly weights are drawn to nothing: weight decay, times the number of distinct frames
                            (if they are not very few), since what is assumed counts the less the more is shown
    decay, decay_every, floor   the learning rate is multiplied by `decay` every so many updates, continuously, and ends
                            at this share of itself
    anneal                  instead, the rate falls along a cosine, to that share at the last of `updates`
    average                 how much of the running average of the weights stays at each update; the average is what
                            is estimated, saved and used. 0: the weights themselves
    temperature, uniform    programs are drawn by a softmax over their error, mixed with this share of equal chances
    review                  frames found wrong at the last estimate are added to each batch, as this share of it
    estimate_every, estimate_frames   how often errors are estimated, and on how many frames of each program
    settle                  updates on frames drawn with equal chances once all are right: what is right becomes sure,
                            and holds for more that was never shown
    goal                    the share of each program's frames with pictures that must be right; of the others, all
    caption                 how much it counts to say of each picture what the teacher says of it
    insist, again, rounds   where a proof found mistakes: how many of them are learnt with each update, the updates of a
                            round, and how many rounds there may be
    gentle                  the learning rate at which a round begins, as a share; it falls to nothing along a cosine
    """

    batch: int = 128
    pictures: int = 112
    drill: int = 2048
    practice: int = 0
    steps: int = 640
    updates: int = 6_000
    learning_rate: float = 1e-3
    beta2: float = 0.98
    clip: float = 0.3
    warmup: int = 20
    shrink: float = 0.0
    decay: float = 0.5
    decay_every: int = 300
    floor: float = 0.05
    anneal: bool = False
    average: float = 0.98
    temperature: float = 0.005
    uniform: float = 0.2
    review: float = 0.1
    estimate_every: int = 50
    estimate_frames: int = 256
    settle: int = 200
    goal: float = 0.99
    caption: float = 1.0
    insist: int = 32
    again: int = 300
    rounds: int = 10
    gentle: float = 0.2


FAST = TrainConfig()
PICTURES = TrainConfig(
    updates=3_400,
    decay_every=540,
    floor=0.02,
    average=0.99,
    temperature=0.05,
    uniform=0.5,
    estimate_every=100,
    settle=3_400,  # to the end: a picture can always be varied once more
)
PRACTICE = replace(PICTURES, practice=20_000, drill=8192, learning_rate=2e-3, anneal=True, updates=7_000, settle=7_000)
PAPER = TrainConfig(
    batch=1,
    pictures=1,
    drill=1,
    steps=1,
    updates=2_000_000,
    learning_rate=1e-4,
    beta2=0.999,
    clip=float("inf"),
    warmup=1,
    decay=0.95,
    decay_every=10_000,
    floor=0.0,
    average=0.0,
    temperature=0.1,
    uniform=0.0,
    review=0.0,
    estimate_every=1_000,
    settle=0,
)
CONFIGS = {"fast": FAST, "paper": PAPER, "pictures": PICTURES, "practice": PRACTICE}
