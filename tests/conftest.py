import pytest
import torch

from npi.checkpoint import load_model

torch.set_num_threads(2)


@pytest.fixture(scope="session")
def shipped():
    """The model that comes with the package. Tests must not change it."""
    return load_model()
