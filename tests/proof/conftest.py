import sys

import pytest
from samples.tidy_task import HELPER, HONEST, TASK

from npi.language.task_file import load_task_file


@pytest.fixture
def task(tmp_path, monkeypatch):
    def make(**parts):
        file = tmp_path / "tidy.py"
        file.write_text(TASK.format(**(HONEST | parts)))
        (tmp_path / "tidy_helper.py").write_text(HELPER)
        monkeypatch.delitem(sys.modules, "tidy_helper", raising=False)
        return load_task_file(f"{file}:task")

    return make
