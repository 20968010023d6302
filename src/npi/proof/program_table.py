"""Program tables: a proved program as a finite state machine, run without a network.

Exploration finds every history of a proved program, and the decision after each. Histories with the same future are
merged into one state, which leaves few states. A state maps each observation to a decision and the next state. A table
is stored as JSON and needs no torch to run, only the environment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from npi import tasks
from npi.errors import BadInput
from npi.files import write
from npi.language.env import Env
from npi.language.interpreter import Query, Reply
from npi.language.program import ACT, Call, Decision, Observation
from npi.language.task import Task
from npi.language.trace import Limits, Runaway, Trace
from npi.proof.certificate import Certificate, file_differences, program_hash, read_certificate
from npi.proof.source_files import RUN_ROOMS, hash_files, task_files

FORMAT = 2  # of the file; a change that older versions cannot read increases it
# From each observation to the decision and the next state, which is None after a return.
TableState: TypeAlias = dict[tuple[int, ...], tuple[Decision, Any]]


class TableStates:
    """The states of a table that is being made. States with the same content become one."""

    def __init__(self):
        self._by_content: dict[frozenset, TableState] = {}

    def add(self, state: TableState) -> TableState:
        """The first state with this content. The states that follow it must be in the table already."""
        content = frozenset((observation, decision, id(after)) for observation, (decision, after) in state.items())
        return self._by_content.setdefault(content, state)

    def all(self) -> list[TableState]:
        return list(self._by_content.values())


# Blocks form cycles, on which a generated __eq__ or __repr__ would not end.
@dataclass(slots=True, eq=False, repr=False)
class BasicBlock:
    """Actions without a branch between them, and then one of three ends: a branch, a call, or a return.

    actions       the arguments of each ACT, in order
    decisions     how many decisions of the table the block stands for
    branches      the next block for each observation, if the block ends in a branch
    callee        the first block of the called program, if the block ends in a call
    continuation  the block that follows the call; None for a tail call, whose caller only returns
    """

    actions: tuple[tuple[int, ...], ...] = ()
    decisions: int = 1
    branches: dict[tuple[int, ...], BasicBlock] | None = None
    callee: BasicBlock | None = None
    continuation: BasicBlock | None = None

    @property
    def only_returns(self) -> bool:
        return not self.actions and self.branches is None and self.callee is None


class ProgramTable:
    """A compiled program: a decider that looks every decision up.

    task, teacher  the task and the teacher whose program was proved
    entry_states   the state in which each call begins
    states         all states; the next states of each come before it
    certificate    of the proof of this program; None: the table was not made from a proof
    """

    def __init__(
        self,
        task: str,
        teacher: str,
        entry_states: dict[Call, TableState],
        states: list[TableState],
        certificate: Certificate | None = None,
    ):
        self.task, self.teacher, self.entry_states, self.states = task, teacher, entry_states, states
        self.certificate = certificate
        self.fitting: list[Task[Any, Any]] = []  # tasks of which `task_to_run` found that the table fits

    def task_to_run(self, task: Task[Any, Any] | str) -> Task[Any, Any]:
        """Find the task; raise BadInput if the table belongs to another task or teacher, or if the task has changed."""
        found = tasks.find_task(task, self.teacher)
        if any(found is known for known in self.fitting):
            return found
        if (self.task, self.teacher) != (found.name, found.teacher):
            raise BadInput(
                f"this is a table of {self.task} ({self.teacher}), not of {found.name} ({found.teacher}): choose "
                f"another table or another task"
            )
        if self.certificate is not None:
            proved, now = task_files(self.certificate.files), hash_files(found, RUN_ROOMS)
            if changed := file_differences(proved, now):
                raise BadInput(
                    f"the table of {self.task} is out of date ({changed[0]}): compile it again with npi compile"
                )
        self.fitting.append(found)
        return found

    def document(self) -> dict[str, Any]:
        """The table as JSON: its decisions, its states with the observations of each, and where each call begins."""
        index = {id(state): number for number, state in enumerate(self.states)}
        decisions: dict[Decision, int] = {}

        def row(observation: tuple[int, ...], decision: Decision, after: TableState | None) -> list[Any]:
            number = decisions.setdefault(decision, len(decisions))
            return [[int(value) for value in observation], number, -1 if after is None else index[id(after)]]

        nodes = [[row(observation, *outcome) for observation, outcome in state.items()] for state in self.states]
        return {
            "decisions": [
                None if decision is None else [decision.program, list(decision.args)] for decision in decisions
            ],
            "nodes": nodes,
            "calls": [[call.program, list(call.args), index[id(state)]] for call, state in self.entry_states.items()],
        }

    def cached(self, observation: Observation, call: Call, state: TableState | None) -> Reply | None:
        return (self.entry_states[call] if state is None else state)[observation]

    def decide(self, queries: list[Query]) -> list[Reply]:
        raise AssertionError("`cached` has every decision of a table, so the interpreter never needs this")

    def run(self, env: Env, call: Call, limits: Limits = Limits()) -> int:
        """Run a program, with the same effect as the interpreter but faster; returns the number of decisions.

        It keeps no trace, observes only before a branch, and makes tail calls without growing the stack. Raises
        `Runaway` if it reaches a limit.
        """
        most, deepest = limits.steps, limits.depth
        act, observe, stack, decisions, block = env.act, env.observe, [], 0, self.entry_blocks[call]
        observation = None  # nothing observed since the last action
        while True:
            if block.actions:
                for args in block.actions:
                    act(*args)
                observation = None
            decisions += block.decisions
            if decisions > most:
                raise Runaway(Trace(call, [], f"step limit of {most:,} reached"))
            if block.branches is not None:
                if observation is None:
                    observation = observe()
                block = block.branches[observation]
            elif block.callee is not None:
                if block.continuation is not None:
                    stack.append(block.continuation)
                    if len(stack) >= deepest:
                        raise Runaway(Trace(call, [], f"depth limit of {deepest:,} calls reached"))
                block = block.callee
            elif stack:
                block = stack.pop()
            else:
                return decisions

    @cached_property
    def entry_blocks(self) -> dict[Call, BasicBlock]:
        """The basic block in which each call begins."""
        # Calls may be recursive, so each call gets an empty block now, to refer to; the last loop fills it in.
        entries = {call: BasicBlock() for call in self.entry_states}
        blocks: dict[int, BasicBlock] = {}

        def make_block(decision: Decision, next_state: TableState | None) -> BasicBlock:
            if decision is None:
                return BasicBlock()
            following = blocks[id(next_state)]
            if decision.program == ACT:
                return BasicBlock(
                    (decision.args, *following.actions),
                    1 + following.decisions,
                    following.branches,
                    following.callee,
                    following.continuation,
                )
            if following.only_returns:  # a tail call: count the call, and the return that follows it
                return BasicBlock(decisions=2, callee=entries[decision])
            return BasicBlock(callee=entries[decision], continuation=following)

        for state in self.states:
            outcomes = list(state.values())
            # If no observation makes a difference, the block needs no branch.
            constant = outcomes and all(o[0] == outcomes[0][0] and o[1] is outcomes[0][1] for o in outcomes)
            branches = {observation: make_block(*outcome) for observation, outcome in state.items()}
            blocks[id(state)] = (
                next(iter(branches.values())) if constant else BasicBlock(decisions=0, branches=branches)
            )
        for call, entry in entries.items():
            block = blocks[id(self.entry_states[call])]
            for field in fields(BasicBlock):
                setattr(entry, field.name, getattr(block, field.name))
        return entries


def save_table(table: ProgramTable, path: str | Path) -> None:
    """Write the table of a proved program to a JSON file, which `load_table` reads."""
    if table.certificate is None:
        raise ValueError("the table has no certificate, so nothing shows that it was proved")
    content = {
        "format": FORMAT,
        "task": table.task,
        "teacher": table.teacher,
        "certificate": asdict(table.certificate) | {"digest": table.certificate.digest},
        **table.document(),
    }
    write(Path(path), json.dumps(content, separators=(",", ":")).encode())


def load_table(path: str | Path) -> ProgramTable:
    """Read a table that `save_table` or `npi compile` wrote."""
    path = Path(path)
    if not path.is_file():
        raise BadInput(f"there is no table {path}: make it with npi compile TASK --out {path}")
    try:
        content: Any = json.loads(path.read_text("utf-8"))
        if content["format"] != FORMAT:
            raise BadInput(
                f"{path} has format {content['format']}; this version reads format {FORMAT}: make it again with npi "
                f"compile"
            )
        certificate = read_certificate(content["certificate"], str(path))
        if (content["task"], content["teacher"], program_hash(content)) != (
            certificate.task,
            certificate.teacher,
            certificate.program,
        ):
            raise BadInput(
                f"{path} was edited: it is not the program that its certificate is of. Make it again with npi compile"
            )
        return read_table(content, certificate)
    except BadInput:
        raise
    except (ValueError, KeyError, TypeError, IndexError, OSError) as error:
        raise BadInput(
            f"{path} is not a compiled program, or is incomplete: make one with npi compile TASK --out FILE"
        ) from error


def read_table(document: Mapping[str, Any], certificate: Certificate) -> ProgramTable:
    """The program in the document of a table, or of a proof table."""
    decisions = [None if decision is None else _call(*decision) for decision in document["decisions"]]
    states: list[TableState] = [{} for _ in document["nodes"]]
    for state, rows in zip(states, document["nodes"], strict=True):
        for observation, decision, after in rows:
            state[tuple(observation)] = (decisions[decision], None if after < 0 else states[after])
    entry_states = {_call(program, args): states[index] for program, args, index in document["calls"]}
    return ProgramTable(certificate.task, certificate.teacher, entry_states, states, certificate)


def _call(program: Any, args: Sequence[int]) -> Call:
    if not isinstance(program, str):
        raise TypeError(f"the name of a program is a text, not {program!r}")
    return Call(program, tuple(args))
