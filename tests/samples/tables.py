"""Program tables from recorded histories, for tests of what reads tables."""

from npi.language.task import Task
from npi.proof.histories import Histories
from npi.proof.program_table import ProgramTable, TableState, TableStates


def table_from(task: Task, histories: Histories) -> ProgramTable:
    """A table with the decision after each of some histories. Histories with the same future share a state."""
    following: dict[object, TableState] = {}  # from the node of a history, or from a call, to the state after it
    states = TableStates()
    for node in reversed(range(len(histories))):  # a node comes after its parent, so its own state is complete here
        after = states.add(following.pop(node)) if node in following else None
        before = histories.call[node] if histories.parent[node] < 0 else histories.parent[node]
        rows = following.get(before, {})
        following[before] = {tuple(map(int, histories.observation[node])): (histories.decision[node], after), **rows}
    entries = {call: states.add(following[call]) for call in dict.fromkeys(histories.call)}
    return ProgramTable(task.name, task.teacher, entries, states.all())
