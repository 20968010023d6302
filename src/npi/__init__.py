"""Neural Programmer-Interpreters: teach procedures by demonstration, run what was learnt, read the call stack.

Writing, recording and checking programs needs no torch; the names that need it are imported when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from npi.graph import Graph, GraphKind
from npi.interpret import Decider, Memo, run, run_all
from npi.program import Call, Frame, Limits, Runaway, Step, Trace, act, program, record
from npi.tape import LEFT, RIGHT, Tape, TapeKind
from npi.task import BadInput, Env, Report, Task, check_task

if TYPE_CHECKING:
    from npi.checkpoint import load_model, save_model
    from npi.evaluation import evaluate
    from npi.model import NPI, ModelConfig
    from npi.neural import Neural
    from npi.recipes import FAST, PAPER, TrainConfig
    from npi.teaching import teach
    from npi.train import Training, begin

__version__ = "0.1.0"

_LATER = {
    "FAST": "recipes",
    "ModelConfig": "model",
    "NPI": "model",
    "Neural": "neural",
    "PAPER": "recipes",
    "TrainConfig": "recipes",
    "Training": "train",
    "begin": "train",
    "evaluate": "evaluation",
    "load_model": "checkpoint",
    "teach": "teaching",
    "save_model": "checkpoint",
}

__all__ = [
    "FAST",
    "LEFT",
    "NPI",
    "PAPER",
    "RIGHT",
    "BadInput",
    "Call",
    "Decider",
    "Env",
    "Frame",
    "Graph",
    "GraphKind",
    "Limits",
    "Memo",
    "ModelConfig",
    "Neural",
    "Report",
    "Runaway",
    "Step",
    "Tape",
    "TapeKind",
    "Task",
    "Trace",
    "TrainConfig",
    "Training",
    "act",
    "begin",
    "check_task",
    "evaluate",
    "load_model",
    "program",
    "record",
    "run",
    "run_all",
    "save_model",
    "teach",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"npi.{_LATER[name]}"), name)
    raise AttributeError(f"module 'npi' has no attribute {name!r}")
