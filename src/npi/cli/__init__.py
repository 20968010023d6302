"""The command line: it parses arguments, calls the library, prints the result and returns an exit code.

Exit codes: 0 done; 1 the result is a failure (a wrong answer, a fault, not learned); 2 bad input; 130 interrupted.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

import tyro

from npi import __version__
from npi.cli.bench import bench
from npi.cli.cars import cars
from npi.cli.check import check
from npi.cli.compile import compile
from npi.cli.decompile import decompile
from npi.cli.demo import demo
from npi.cli.evaluate import evaluate
from npi.cli.export import export
from npi.cli.reproduce import reproduce
from npi.cli.run import run
from npi.cli.teach import teach
from npi.cli.train import train
from npi.cli.verify import verify
from npi.errors import BadInput

COMMANDS: tuple[Callable[..., int], ...] = (
    demo, run, train, teach, evaluate, check, verify, compile, decompile, bench, reproduce, cars, export,
)  # fmt: skip

app = tyro.extras.SubcommandApp()
for command in COMMANDS:
    app.command(command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if argv == ["--version"]:
        print(f"npi {__version__}")
        return 0
    try:
        code = app.cli(
            prog="npi",
            description="Neural Programmer-Interpreters: teach procedures by demonstration, run what was learned.",
            args=argv,
            config=(tyro.conf.FlagCreatePairsOff,),
        )
        sys.stdout.flush()
        return code
    except BadInput as error:
        print(f"npi: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("npi: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever reads the output, such as head, has stopped
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a file that may not be read, a disk that is full
        with suppress(OSError, ValueError):  # drop unwritten output, or Python fails again on it at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        where = f"{error.filename} cannot be used" if error.filename else "what was printed could not be written"
        print(f"npi: {where}: {error.strerror or error}", file=sys.stderr)
        return 2


def entry() -> None:
    gc.set_threshold(100_000, 50, 50)  # a proof makes millions of objects, none in cycles: look through them less often
    code = main()
    gc.freeze()  # else the garbage collector goes through all of torch at exit, which takes a third of a second
    sys.exit(code)
