"""Neural Programmer-Interpreters: train a network to run procedures from demonstrations, prove it, teach it more.

    @npi.program                   write a procedure as Python functions on an `Env`
    npi.check_task(task)           find out whether it can be learned
    model = npi.train(task)        train a network on recordings of the functions
    npi.run(task, problem, model)  run it: answer, trace, call tree
    npi.evaluate(task, model)      measure how often it is right
    npi.verify(task, model)        prove it for every size, or get counterexamples
    npi.compile, npi.decompile     turn a proved program into a table, or Python
    npi.teach(task, model)         add programs by memory rows; the rest stays frozen
    npi.export(task, model, file)  write the network as ONNX

Writing, recording and checking tasks needs no torch: names that need it are imported when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from npi.errors import BadInput, NotLearned, NotProvable
from npi.language.check import CheckReport, check_task
from npi.language.env import Env
from npi.language.graph import Graph, GraphKind
from npi.language.image import Image
from npi.language.program import act, program
from npi.language.record import record
from npi.language.tape import LEFT, RIGHT, Tape, TapeKind
from npi.language.task import Task
from npi.language.trace import Limits, Runaway
from npi.progress import Progress

if TYPE_CHECKING:
    from npi.evaluation.evaluate import evaluate
    from npi.evaluation.score import Score
    from npi.network.checkpoint import load
    from npi.network.model import NPI
    from npi.network.onnx import export
    from npi.network.run import Run, run
    from npi.proof.compile import compile, decompile
    from npi.proof.teach import teach
    from npi.proof.train import train
    from npi.proof.verify import Counterexamples, Proof, verify
    from npi.training.config import TrainConfig

__version__ = "0.2.0"

# The names that need torch, and the modules that define them.
_LAZY = {
    "Counterexamples": "proof.verify",
    "NPI": "network.model",
    "Proof": "proof.verify",
    "Run": "network.run",
    "Score": "evaluation.score",
    "TrainConfig": "training.config",
    "compile": "proof.compile",
    "decompile": "proof.compile",
    "evaluate": "evaluation.evaluate",
    "export": "network.onnx",
    "load": "network.checkpoint",
    "run": "network.run",
    "teach": "proof.teach",
    "train": "proof.train",
    "verify": "proof.verify",
}

__all__ = [
    "LEFT",
    "NPI",
    "RIGHT",
    "BadInput",
    "CheckReport",
    "Counterexamples",
    "Env",
    "Graph",
    "GraphKind",
    "Image",
    "Limits",
    "NotLearned",
    "NotProvable",
    "Progress",
    "Proof",
    "Run",
    "Runaway",
    "Score",
    "Tape",
    "TapeKind",
    "Task",
    "TrainConfig",
    "act",
    "check_task",
    "compile",
    "decompile",
    "evaluate",
    "export",
    "load",
    "program",
    "record",
    "run",
    "teach",
    "train",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"npi.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'npi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
