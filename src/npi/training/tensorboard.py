"""A progress callback that writes training metrics to TensorBoard."""

from __future__ import annotations

from pathlib import Path

from npi.errors import BadInput
from npi.progress import Progress
from npi.training.trainer import Metrics


class TensorBoardLog:
    """Logs the loss and the accuracy of each program; an instance is a progress callback of `npi.train`."""

    def __init__(self, folder: Path):
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise BadInput("--tensorboard needs the tensorboard package: pip install 'npi[tensorboard]'") from error
        self.writer = SummaryWriter(str(folder))

    def __call__(self, report: Progress) -> None:
        metrics = report.details
        if isinstance(metrics, Metrics):
            self.writer.add_scalar("loss", metrics.loss, metrics.update)
            for name, accuracy in metrics.accuracy.items():
                self.writer.add_scalar(f"accuracy/{name}", accuracy, metrics.update)

    def close(self) -> None:
        self.writer.close()
