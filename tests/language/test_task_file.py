"""Tasks in files: FILE.py:NAME."""

import sys

import pytest

from npi import BadInput
from npi.language.task_file import load_task_file

TASK = "from dataclasses import replace\nfrom npi import tasks\nmine = replace(tasks.find('sorting'), name='mine')\n"


def test_a_task_file_may_import_the_file_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "neighbour_of_a_task.py").write_text(TASK)
    (tmp_path / "here.py").write_text("from neighbour_of_a_task import mine\n")
    assert load_task_file(f"{tmp_path / 'here.py'}:mine").name == "mine"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("file.py", "no task in it"),
        ("none.py:mine", "there is no file"),
        ("file.py:min", "did you mean 'mine'"),
        ("broken.py:mine", "cannot be imported: SyntaxError"),
        ("empty.py:mine", "it defines none"),
    ],
)
def test_a_wrong_name_is_refused_with_a_remedy(tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for file, text in {"file.py": TASK, "broken.py": "def broken(", "empty.py": ""}.items():
        (tmp_path / file).write_text(text)
    with pytest.raises(BadInput, match=message):
        load_task_file(name)
