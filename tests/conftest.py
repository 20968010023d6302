import os
import signal
from itertools import islice

import pytest
import torch

from npi import tasks
from npi.cli import main
from npi.network.checkpoint import load_model
from npi.proof import reachable
from npi.proof.explore import Exploration
from npi.tasks import cars

torch.set_num_threads(1)  # pytest-xdist runs a worker on each core; two threads a worker would wait for each other


def pytest_collection_modifyitems(items):
    """Tests of POSIX signals and limits do not run on Windows, which has neither."""
    for item in items:
        if os.name == "nt" and item.get_closest_marker("posix"):
            item.add_marker(pytest.mark.skip(reason="needs POSIX signals or limits"))


@pytest.fixture(autouse=True, scope="session")
def few_cars(tmp_path_factory):
    """Two cars of each kind, rendered once, in a cache of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NPI_CACHE", str(tmp_path_factory.mktemp("cache")))
        sizes = cars.loop.sizes
        usable = (car for car in cars.TRAINING_CARS if all(cars.training_pairs(car, size) for size in sizes))
        patch.setattr(cars, "TRAINING_CARS", list(islice(usable, 2)))
        patch.setattr(cars, "SELECTION_CARS", cars.SELECTION_CARS[:2])
        yield


@pytest.fixture(autouse=True, scope="session")
def interrupts():
    """Commands that tests start can be interrupted, even where the tests run in the background of a shell."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def explore():
    """Explore a built-in task to the end, once in a test run: its histories depend on the task alone."""
    found = {}

    def explore(name):
        if name not in found:
            found[name] = Exploration(tasks.find(name))
            for _ in found[name].run():
                pass
        return found[name]

    return explore


@pytest.fixture(autouse=True, scope="session")
def shared_explorations(explore):
    """Commands and the API find the explorations of built-in tasks finished; those of other tasks they make."""

    def shared(task):
        built_in = task.name in tasks.names() and tasks.find(task.name) is task
        return explore(task.name) if built_in and task.env.tapes() else Exploration(task)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reachable, "Exploration", shared)
        yield


@pytest.fixture(scope="session")
def shipped():
    """The model that comes with the package. Tests must not change it."""
    return load_model()


@pytest.fixture
def npi(capsys):
    """Run a command; returns its exit code, its stdout, and its stderr."""

    def command(*argv):
        try:
            code = main([str(word) for word in argv])
        except SystemExit as exit:  # how the parser refuses
            code = exit.code
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return code, printed.out, printed.err

    return command
