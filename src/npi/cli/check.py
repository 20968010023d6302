"""npi check"""

from __future__ import annotations

from dataclasses import asdict

from tyro.conf import Positional

from npi.cli.arguments import TaskName, Teacher, positive
from npi.cli.output import print_json
from npi.language.check import check_task
from npi.tasks import find_task


def check(
    task: Positional[TaskName],
    *,
    teacher: Teacher = "recursive",
    problems: int = 100,
    seed: int = 0,
    json: bool = False,
) -> int:
    """Check that a task can be learned: correct answers, declared ranges, a total act, an honest teacher.

    Args:
        task: A built-in task, or a Task in a file of yours, such as mine.py:task.
        teacher: Which teacher of a built-in task.
        problems: How many problems the teacher demonstrates.
        seed: Chooses the problems.
        json: Print the report as JSON.
    """
    positive(problems=problems)
    report = check_task(find_task(task, teacher), problems, seed)
    if json:
        print_json(asdict(report))
    else:
        for fault in report.faults:
            print(f"fault: {fault}")
        print(
            f"{report.task}: {report.problems} problems, {report.frames:,} frames, {report.distinct:,} distinct, "
            f"programs {', '.join(report.programs) or 'none'}"
        )
        faults = len(report.faults)
        print(
            f"{faults} fault{'s' * (faults > 1)}: this task cannot be learned as it is" if faults else "no fault found"
        )
    return int(bool(report.faults))
