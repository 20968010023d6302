"""npi bench"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from npi.cli.output import print_json

Part = Literal["startup", "rates", "compiled"]


def bench(
    parts: Annotated[Positional[tuple[Part, ...]], arg(metavar="PART")] = ("startup", "rates"),
    *,
    json: bool = False,
) -> int:
    """Measure speed on this machine against its targets, and print one table.

    Args:
        parts: startup, rates, compiled; the first two if none is named.
        json: Print the measurements as JSON.
    """
    from npi.evaluation import speed
    from npi.evaluation.machine import describe_machine

    measurements = {"startup": speed.startup, "rates": speed.rates, "compiled": speed.compiled}
    rows = []
    if not json:
        print(f"{'what':<62} {'measured':>22}  {'target':>14}", flush=True)
    for part in parts:
        for row in measurements[part]():
            rows.append(asdict(row))
            if not json:
                mark = {True: "met", False: "MISSED", None: ""}[row.met]
                print(f"{row.what:<62} {row.measured:>22}  {row.target:>14} {mark}", flush=True)
    if json:
        print_json({"machine": describe_machine(), "rows": rows})
    return int(any(row["met"] is False for row in rows))
