"""npi bench"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from npi.cli.output import print_json

LINE = "{:<60} {:>18}  {:>24} {}"  # of the table: what, measured, target, whether it is met


def bench(
    parts: Annotated[
        Positional[tuple[Literal["startup", "rates", "proofs", "teaching", "compiled"], ...]], arg(metavar="PART")
    ] = (
        "startup",
        "rates",
    ),
    *,
    json: bool = False,
) -> int:
    """Measure speed on this machine beside its targets, and print one table. `npi reproduce speed` measures more.

    Args:
        parts: startup, rates, proofs, teaching, compiled; the first two if none is named.
        json: Print the measurements as JSON.
    """
    from npi.evaluation import speed
    from npi.evaluation.machine import describe_machine

    rows: list[dict[str, Any]] = []
    if not json:
        print(LINE.format("what", "measured", "target", "").rstrip(), flush=True)
    for part in parts:
        for found in speed.PARTS[part]():
            rows.append(asdict(found) | {"met": found.met})
            if not json:
                mark = {True: "met", False: "MISSED", None: ""}[found.met]
                print(LINE.format(found.what, found.value_text, found.target_text, mark).rstrip(), flush=True)
    if json:
        print_json({"machine": describe_machine(), "rows": rows})
    return int(any(row["met"] is False for row in rows))
