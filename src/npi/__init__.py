"""Neural Programmer-Interpreters: teach procedures by demonstration, run what was learned, read the call stack.

Writing, recording and checking programs needs no torch; the names that need it are imported when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from npi.errors import BadInput
from npi.language.check import CheckReport, check_task
from npi.language.env import Env
from npi.language.graph import Graph, GraphKind
from npi.language.interpreter import Decider, run_batch, run_program
from npi.language.memo import Memo
from npi.language.program import Call, Frame, Step, act, program
from npi.language.record import record
from npi.language.tape import LEFT, RIGHT, Tape, TapeKind
from npi.language.task import Task
from npi.language.trace import Limits, Runaway, Trace

if TYPE_CHECKING:
    from npi.evaluation.judge import evaluate
    from npi.network.checkpoint import load_model, save_model
    from npi.network.model import NPI, ModelConfig
    from npi.network.neural_decider import NeuralDecider
    from npi.training.config import FAST, PAPER, TrainConfig
    from npi.training.teach import teach
    from npi.training.trainer import Trainer, make_trainer

__version__ = "0.1.0"

_LATER = {
    "FAST": "training.config",
    "ModelConfig": "network.model",
    "NPI": "network.model",
    "NeuralDecider": "network.neural_decider",
    "PAPER": "training.config",
    "TrainConfig": "training.config",
    "Trainer": "training.trainer",
    "make_trainer": "training.trainer",
    "evaluate": "evaluation.judge",
    "load_model": "network.checkpoint",
    "teach": "training.teach",
    "save_model": "network.checkpoint",
}

__all__ = [
    "FAST",
    "LEFT",
    "NPI",
    "PAPER",
    "RIGHT",
    "BadInput",
    "Call",
    "CheckReport",
    "Decider",
    "Env",
    "Frame",
    "Graph",
    "GraphKind",
    "Limits",
    "Memo",
    "ModelConfig",
    "NeuralDecider",
    "Runaway",
    "Step",
    "Tape",
    "TapeKind",
    "Task",
    "Trace",
    "TrainConfig",
    "Trainer",
    "act",
    "check_task",
    "evaluate",
    "load_model",
    "make_trainer",
    "program",
    "record",
    "run_batch",
    "run_program",
    "save_model",
    "teach",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"npi.{_LATER[name]}"), name)
    raise AttributeError(f"module 'npi' has no attribute {name!r}")
