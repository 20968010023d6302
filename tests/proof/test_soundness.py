"""Environments and teachers that once fooled the proof: each is explored soundly now, or refused."""

import random
from dataclasses import replace
from itertools import count, product
from queue import SimpleQueue
from typing import Annotated, NamedTuple

import pytest

from npi import LEFT, RIGHT, Env, Tape, TapeKind, Task, act, program
from npi.errors import NotProvable
from npi.language.record import record
from npi.proof.abstract_env import AbstractEnv
from npi.proof.assumptions import assumptions
from npi.proof.concrete import check_concrete_runs
from npi.proof.explore import Exploration
from npi.proof.lazy_tape import LazyTape
from npi.proof.oracle import Oracle

BITS = TapeKind(symbols=2)
WRITE, MOVE = range(2)


class Seen(NamedTuple):
    bit: Annotated[int, range(2)]
    last: Annotated[int, range(2)]
    last_of_other: Annotated[int, range(2)]


class Pair(Env):
    """Two strings of bits, of lengths that have nothing to do with each other."""

    def __init__(self, first: Tape, second: Tape):
        self.first, self.second = first, second

    @classmethod
    def of(cls, problem):
        return cls(*map(BITS.tape, problem))

    @classmethod
    def tapes(cls) -> tuple[TapeKind, ...]:
        return BITS, BITS

    def observe(self) -> Seen:
        return Seen(self.first.read(), int(self.first.at_last()), int(self.second.at_last()))

    def act(
        self, op: Annotated[int, range(2)], symbol: Annotated[int, range(2)], tape: Annotated[int, range(2)]
    ) -> None:
        tapes = (self.first, self.second)
        if tape < 2 and op == WRITE:
            tapes[tape].write(symbol)
        elif tape < 2:
            tapes[tape].move(symbol)


class Echo(Pair):
    """Its act observes what it has just written: writing a 1 moves the head on."""

    def act(
        self, op: Annotated[int, range(2)], symbol: Annotated[int, range(2)], tape: Annotated[int, range(2)]
    ) -> None:
        if op == WRITE:
            self.first.write(symbol)
            if self.observe().bit:
                self.first.move(RIGHT)


PROBLEMS = [
    (first, second)
    for lengths in product((1, 2, 3), repeat=2)
    for first in product(range(2), repeat=lengths[0])
    for second in [(0,) * lengths[1]]
]


def task_of(main, env=Pair):
    return Task(
        name="planted",
        teacher="recursive",
        env=env,
        main=main,
        sample=lambda rng, size: rng.choice(PROBLEMS),
        answer=lambda problem: None,
        result=lambda env: None,
        parse=lambda words: PROBLEMS[0],
        show=str,
        sizes=[1],
        examples=10,
    )


def explored(task):
    exploration = Exploration(task)
    for _ in exploration.run():
        pass
    return exploration


def run_concretely(task):
    """How many concrete problems of a task stay within its exploration."""
    exploration = explored(task)
    return check_concrete_runs(task, exploration.teacher, exploration.histories)


def unexplored(task):
    """The problems whose concrete run comes to a history that exploration did not find."""
    histories = explored(task).histories
    return [
        problem
        for problem in PROBLEMS
        if any(None in histories.nodes_of(frame) for frame in record(task.env.of(problem), task.main))
    ]


@program
def compare_ends(pad):
    seen = pad.observe()
    if seen.last != seen.last_of_other:
        act(pad, WRITE, 1)


def test_two_tapes_of_one_kind_have_lengths_of_their_own():
    assert unexplored(task_of(compare_ends)) == []
    starts = {tuple(seen)[1:] for seen in explored(task_of(compare_ends)).histories.observation}
    assert starts == set(product(range(2), repeat=2))


def test_a_tape_cannot_be_as_long_as_one_of_several():
    class Three(Pair):
        @classmethod
        def tapes(cls) -> tuple[TapeKind, ...]:
            return BITS, BITS, TapeKind(symbols=2, heads=2, length_of=BITS)

    with pytest.raises(NotProvable, match="of which it declares 2"):
        Exploration(task_of(compare_ends, Three))


def test_a_comparison_is_forgotten_when_a_value_is_written():
    outcomes, oracle = set(), Oracle()
    kind = TapeKind(symbols=3, heads=2)
    while True:
        tape = LazyTape(kind, oracle, LazyTape.abstract_start(kind, oracle, {}, 0))
        tape.move(RIGHT, 1)
        before = tape.greater(0, 1)
        tape.write(2)
        outcomes.add((before, tape.greater(0, 1)))
        if not oracle.advance():
            break
    assert (False, True) in outcomes  # as with the cells 0 and 1: 0 > 1 is false, and 2 > 1 is true


@program
def write_one(pad):
    if not pad.observe().bit:
        act(pad, WRITE, 1)


def test_an_act_that_observes_sees_what_it_has_changed():
    assert unexplored(task_of(write_one, Echo)) == []


def test_heads_at_the_far_end_of_a_tape_without_one_are_refused():
    with pytest.raises(ValueError, match="leave out far or beyond"):
        TapeKind(symbols=3, heads=2, far=(1,), beyond=2)


@program
def move(pad, direction=RIGHT):
    act(pad, MOVE, direction)


@program(name="DEFAULTS")
def defaults(pad):
    # A call without its argument and one with the argument 0 are the same to a network: LEFT is 0, the default is not.
    if pad.observe().bit:
        move(pad)
    else:
        move(pad, LEFT)


@program(name="MOVE")
def move_otherwise(pad, direction=LEFT):
    act(pad, WRITE, direction)


@program(name="NAMESAKES")
def namesakes(pad):
    if pad.observe().bit:
        move(pad, LEFT)
    else:
        move_otherwise(pad, LEFT)


@pytest.mark.parametrize(
    ("main", "message"),
    [(defaults, "Give all arguments at every call"), (namesakes, "two programs are named MOVE")],
)
def test_calls_that_a_network_cannot_tell_apart_are_refused(main, message):
    with pytest.raises(NotProvable, match=message):
        explored(task_of(main))


@program
def typo(pad):
    if pad.observe().bitt:
        act(pad, WRITE, 1)


def test_a_mistake_in_a_task_is_named_with_its_place():
    with pytest.raises(NotProvable, match=r"fails in typo \(.*test_soundness.py:\d+\): .*no attribute 'bitt'"):
        explored(task_of(typo))


class Moved(Pair):
    """A problem starts with a head that has moved."""

    @classmethod
    def of(cls, problem):
        pad = super().of(problem)
        pad.first.move(RIGHT)
        return pad


class Trits(Pair):
    """The tapes have a symbol more than is declared."""

    @classmethod
    def of(cls, problem):
        return cls(TapeKind(symbols=3).tape(problem[0]), BITS.tape(problem[1]))


class Equal(Pair):
    """Declares equal lengths, and does not keep to it."""

    @classmethod
    def tapes(cls):
        return BITS, TapeKind(symbols=2, length_of=BITS, cell_radius=2)

    @classmethod
    def of(cls, problem):
        return cls(BITS.tape(problem[0]), cls.tapes()[1].tape(problem[1]))


class Counting(Pair):
    """Keeps a number in the class, where no tape is."""

    acts = 0

    @classmethod
    def of(cls, problem):
        cls.acts = 0
        return super().of(problem)

    def observe(self) -> Seen:
        return Seen(self.first.read(), int(self.first.at_last()), Counting.acts % 2)

    def act(
        self, op: Annotated[int, range(2)], symbol: Annotated[int, range(2)], tape: Annotated[int, range(2)]
    ) -> None:
        Counting.acts = 1
        super().act(op, symbol, tape)


FACTS = {"long": False}


class Hidden(Pair):
    """Keeps a property of the problem in a dictionary, where no tape is."""

    @classmethod
    def of(cls, problem):
        FACTS["long"] = len(problem[0]) > 1
        return super().of(problem)

    def observe(self) -> Seen:
        return Seen(self.first.read(), int(self.first.at_last()), int(FACTS["long"]))


@program
def write_and_look(pad):
    act(pad, WRITE, 1)
    if pad.observe().last_of_other:
        act(pad, WRITE, 0)


@pytest.mark.parametrize(
    ("env", "main", "message"),
    [
        (Moved, compare_ends, "has its heads at"),
        (Trits, compare_ends, "has symbols=3 and beyond=None, declared are symbols=2"),
        (Equal, compare_ends, "length_of promises equal lengths"),
        (Counting, write_and_look, r"Counting.act \(.*\) assigns to the attribute acts"),
        (Hidden, compare_ends, "FACTS, which Hidden.observe refers to and FACTS, which Hidden.of refers to"),
    ],
)
def test_what_concrete_problems_show_is_compared_with_what_is_declared(env, main, message):
    with pytest.raises(NotProvable, match=message):
        run_concretely(task_of(main, env))


def test_a_task_with_a_fault_is_not_proved():
    task = replace(task_of(compare_ends), answer=lambda problem: 1)
    with pytest.raises(NotProvable, match="has a fault, so nothing about it can be proved: COMPARE_ENDS gives None"):
        run_concretely(task)


def test_a_sound_task_passes():
    assert run_concretely(task_of(compare_ends)) >= 500


class Slotted(Pair):
    """Keeps a number in a slot, beside its attributes."""

    __slots__ = ("count",)


class Tagged(tuple):
    """A tuple that can have attributes."""


class Hiding(Pair):
    """Keeps its tapes in a tuple that has room for more."""

    def __init__(self, first: Tape, second: Tape):
        self.held = Tagged((first, second))

    def observe(self) -> Seen:
        return Seen(self.held[0].read(), 0, 0)


class Growing(Pair):
    """Notes in the class what it did."""

    log: list[int] = []  # noqa: RUF012  # the planted fault

    def act(
        self, op: Annotated[int, range(2)], symbol: Annotated[int, range(2)], tape: Annotated[int, range(2)]
    ) -> None:
        self.log.append(op)
        super().act(op, symbol, tape)


LOOKS = count()


class Fickle(Pair):
    """Reads its tape every third time only, by a number that is global."""

    def observe(self) -> Seen:
        return Seen(self.first.read() if next(LOOKS) % 3 == 0 else 0, 0, 0)


CLOCK = SimpleQueue()


class Ticking(Pair):
    """Reads its tape every third time only, by the state of an object in C that is global."""

    def observe(self) -> Seen:
        CLOCK.put(0)
        return Seen(self.first.read() if CLOCK.qsize() % 3 == 0 else 0, 0, 0)


class Gambling(Pair):
    def observe(self) -> Seen:
        return Seen(random.randrange(2), 0, 0)


NOTES: list[int] = []


class Noting(Pair):
    """Notes in a global list what it did."""

    def act(
        self, op: Annotated[int, range(2)], symbol: Annotated[int, range(2)], tape: Annotated[int, range(2)]
    ) -> None:
        NOTES.append(op)
        super().act(op, symbol, tape)


class Asking(Pair):
    """Asks whether its tape is a concrete one."""

    def observe(self) -> Seen:
        return Seen(1 if hasattr(self.first, "contents") else 0, 0, 0)


class Trying(Pair):
    """Does what only a concrete tape allows, and hides the error."""

    def observe(self) -> Seen:
        try:
            return Seen(int(len(self.first.contents()) > 1), 0, 0)
        except:  # noqa: E722  # the planted fault
            return Seen(0, 0, 0)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (Slotted, "Slotted declares __slots__"),
        (Hiding, "keeps held in a Tagged, a tuple that could keep state of its own"),
        (Growing, "changes Growing.log"),
        (Fickle, "uses LOOKS, which Fickle.observe refers to, an iterator that remembers its place"),
        (Ticking, "uses its tapes differently when it is repeated"),
        (Gambling, "uses random, which Gambling.observe refers to: random may answer differently from run to run"),
        (Noting, "Noting changes NOTES, which Noting.act refers to"),
        (Asking, "uses hasattr"),
        (Trying, "Trying.observe .* handles errors"),
    ],
)
def test_state_outside_tapes_is_refused(env, message):
    with pytest.raises(NotProvable, match=message):
        explored(task_of(write_one, env))


def test_values_that_nobody_can_watch_are_assumptions():
    assert explored(task_of(write_one)).abstract.watch.unseen == {}
    abstract = AbstractEnv(Ticking)
    assert list(abstract.watch.unseen) == ["CLOCK, which Ticking.observe refers to (SimpleQueue)"]
    assert "constant: CLOCK, which Ticking.observe refers to (SimpleQueue)" in assumptions(abstract.watch.unseen)


raised = False
FLAGS = [False]


@program
def look_at_flag(pad):
    if FLAGS[0]:
        act(pad, WRITE, 1)


@program(name="RAISES")
def raises_flag(pad):
    """A callee sees the flag, and afterwards it is as it was."""
    FLAGS[0] = True
    try:
        look_at_flag(pad)
    finally:
        FLAGS[0] = False


@program(name="RAISES")
def raises_global(pad):
    global raised
    raised = not raised
    look_at_flag(pad)


def counting():
    calls = 0

    @program(name="RAISES")
    def raises_nonlocal(pad):
        nonlocal calls
        calls += 1
        look_at_flag(pad)

    return raises_nonlocal


@program(name="RAISES")
def raises_by_chance(pad):
    if random.random() < 0.5:
        look_at_flag(pad)


@program(name="SWALLOWS")
def swallows(pad):
    try:
        look_at_flag(pad)
        bit = pad.observe().bit
    except BaseException:
        bit = 1
    if bit:
        act(pad, WRITE, 1)


@program(name="ACTS_FINALLY")
def acts_finally(pad):
    try:
        look_at_flag(pad)
    finally:
        act(pad, WRITE, 1)


@program(name="READS")
def reads_a_tape(pad):
    if pad.first.read():
        act(pad, WRITE, 1)


@pytest.mark.parametrize(
    ("main", "message"),
    [
        (raises_flag, "planted changes FLAGS, which look_at_flag refers to|planted changes FLAGS, which raises_flag"),
        (raises_global, r"raises_global \(.*\) assigns to raised, which outlives it"),
        (counting(), r"raises_nonlocal \(.*\) assigns to calls, which outlives it"),
        (raises_by_chance, "planted uses random, which raises_by_chance refers to"),
        (swallows, r"swallows \(.*\) handles errors"),
        (acts_finally, "goes on after its replay has ended"),
        (reads_a_tape, "only observe and act may use"),
    ],
)
def test_a_teacher_with_hidden_state_is_refused(main, message):
    with pytest.raises(NotProvable, match=message):
        explored(task_of(main))


TABLE = {0: 1, 1: 0}


class Partial(Pair):
    """Fails where both bits are 1, which no problem is: the second tape holds zeros alone."""

    def observe(self) -> Seen:
        return Seen(self.first.read(), 0, TABLE[self.first.read() + self.second.read()])


def test_an_error_that_only_abstract_tapes_reach_is_explained():
    with pytest.raises(NotProvable, match=r"Partial or of its teacher fails in observe .*KeyError: 2.*abstract tapes"):
        explored(task_of(write_one, Partial))
