"""The proof table: what exploration found, as data that checker.py checks."""

from __future__ import annotations

from typing import Any

from npi.proof.explore import Exploration


def proof_table(exploration: Exploration) -> dict[str, Any]:
    """The JSON document of a proof: the program table, and the summary of each call by numbers of abstract states.

    decisions, nodes, calls  the program table (see ProgramTable.document)
    parts                    abstract tapes and graphs
    states                   abstract states: for each, the numbers of its parts
    summaries                for each call and the state it is entered in, the states in which it may return
    """
    document = exploration.table.document()
    call_numbers = {(name, tuple(args)): number for number, (name, args, _) in enumerate(document["calls"])}
    state_numbers: dict[int, int] = {}
    part_numbers: dict[Any, int] = {}

    def number(state: int) -> int:
        return state_numbers.setdefault(state, len(state_numbers))

    summaries = [
        [call_numbers[call], number(entry), sorted(map(number, summary.exits))]
        for (call, entry), summary in exploration.summaries.items()
    ]
    states = [
        [part_numbers.setdefault(part, len(part_numbers)) for part in exploration.abstract.state(state)]
        for state in state_numbers
    ]
    return document | {"parts": list(part_numbers), "states": states, "summaries": summaries}
