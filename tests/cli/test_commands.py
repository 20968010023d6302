"""The commands as a person types them, right and wrong."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from npi import Runaway, __version__, tasks
from npi.cli.output import print_runaway
from npi.language.program import Call
from npi.language.record import count_steps
from npi.language.trace import Trace
from npi.network.checkpoint import save_model
from npi.training.config import FAST
from npi.training.resume import read_facts
from npi.training.trainer import make_trainer

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture
def tiny(monkeypatch):
    """Trainer tasks of a handful of frames, so that a command is quick."""
    find = tasks.find

    def few(name, teacher="recursive"):
        return replace(find(name, teacher), sizes=range(2, 4), examples=2)

    monkeypatch.setattr(tasks, "find", few)


@pytest.fixture
def untrained(tmp_path):
    """A model that has learned nothing: it will do anything."""
    training = make_trainer([replace(tasks.find("sorting"), sizes=range(2, 4), examples=2)], FAST, seed=5)
    save_model(training.model, tmp_path / "untrained", {})
    return tmp_path / "untrained"


@pytest.mark.slow
def test_demo_adds_sorts_and_checks(npi):
    code, out, _ = npi("demo")
    assert code == 0
    assert "    WRITE OUT 1" in out
    assert "\n221\n" in out
    assert "\n2 5 9\n" in out
    code, out, _ = npi("demo", "--json")
    assert [run["right"] for run in json.loads(out)["runs"]] == [True, True]


@pytest.mark.parametrize("engine", ["memo", "neural"])
def test_run_prints_the_answer(npi, engine):
    assert npi("run", "addition", "96", "125", "--engine", engine)[:2] == (0, "221\n")
    assert npi("run", "sorting", "9", "2", "5", "--engine", engine)[:2] == (0, "2 5 9\n")
    assert npi("run", "addition", "0", "0", "--engine", engine)[:2] == (0, "0\n")
    assert npi("run", "addition", "007", "3", "--engine", engine)[:2] == (0, "10\n")


def test_run_prints_the_call_tree(npi):
    code, out, _ = npi("run", "addition", "96", "125", "--trace")
    assert (code, out) == (0, (GOLDEN / "addition-recursive.txt").read_text() + "221\n")
    code, out, _ = npi("run", "sorting", "9", "2", "5", "--trace")
    assert (code, out) == (0, (GOLDEN / "sorting-recursive.txt").read_text() + "2 5 9\n")


def test_run_as_json(npi):
    code, out, _ = npi("run", "sorting", "3", "1", "--json", "--trace")
    output = json.loads(out)
    assert (code, output["answer"], output["right"], output["trace"][0]) == (0, [1, 3], True, "BUBBLESORT")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["addition", "abc", "1"], "'abc' is not a number"),
        (["addition", "-5", "1"], "'-5' is not a number"),
        (["addition", "1.5", "1"], "'1.5' is not a number"),
        (["addition", "", "1"], "'' is not a number"),
        (["addition", "٣", "1"], "'٣' is not a number"),
        (["addition"], "it was given 0"),
        (["sorting"], "it was given none"),
        (["sorting", "10"], "10 is outside 0..9"),
        (["sorting", "1", "b"], "'b' cannot be sorted"),
        (["adition", "1", "2"], "did you mean 'addition'?"),
        (["addition", "1", "2", "--max-steps", "0"], "--max-steps is 0, but must be at least 1"),
        (["addition", "1", "2", "--model", "/nowhere/model"], "there is no folder /nowhere/model"),
    ],
)
def test_bad_input_is_answered_in_one_sentence(npi, words, message):
    code, out, err = npi("run", *words)
    assert code == 2
    assert out == ""
    assert message in err
    assert err.startswith("npi: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "argv", [["rn"], ["run", "addition", "1", "2", "--engine", "fast"], ["train"], ["run", "--max-steps", "x"]]
)
def test_a_command_that_does_not_exist_is_refused(npi, argv):
    assert npi(*argv)[0] == 2


@pytest.mark.parametrize("device", ["cuda"])
def test_a_device_that_is_not_there_is_refused(npi, device, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    code, _, err = npi("run", "addition", "1", "2", "--device", device)
    assert code == 2
    assert "there is no CUDA device here" in err


def test_a_runaway_ends_at_the_limit_with_its_last_calls(npi, untrained):
    code, out, err = npi("run", "sorting", "3", "1", "--model", untrained, "--max-steps", "200", "--max-depth", "50")
    assert code == 1
    assert out == ""
    assert "did not return" in err
    assert "Its last calls:" in err
    assert "calls deep: BUBBLESORT" in err
    code, out, _ = npi("run", "sorting", "3", "1", "--model", untrained, "--max-steps", "200", "--json")
    assert code == 1
    assert "limit" in json.loads(out)["error"]


def test_without_a_limit_given_the_teacher_sets_it(npi, untrained):
    code, _, err = npi("run", "sorting", "3", "1", "--model", untrained, "--max-depth", "100000")
    steps = count_steps(tasks.find("sorting").env.of([3, 1]), tasks.find("sorting").main)
    assert code == 1
    assert f"step limit of {2 * steps + 1000:,} reached" in err


def test_a_task_in_a_file_is_trained_run_and_evaluated(npi, tmp_path):
    where, out = "examples/shelf.py:task", tmp_path / "model"
    code, output, _ = npi("train", where, "--out", out, "--threads", "1")
    assert (code, "learned every frame" in output) == (0, True)
    assert npi("run", where, "1", "0", "1", "1", "--model", out)[:2] == (0, "[0, 0, 0, 0]\n")
    code, output, _ = npi("evaluate", "--task", where, "--sizes", "30", "--problems", "5", "--model", out, "--json")
    assert (code, json.loads(output)["scores"][0]["answers"]) == (0, 5)
    code, _, err = npi("run", where, "1", "0")
    assert (code, "has not learned tidy, only addition, sorting" in err) == (2, True)


def test_tasks_whose_names_clash_are_not_trained_together(npi, tmp_path):
    source = Path("examples/shelf.py").read_text()
    other = tmp_path / "other.py"
    for written, message in (
        (source, "two tasks are named tidy"),
        (source.replace('"tidy"', '"clean"'), "two environments are named Shelf"),
    ):
        other.write_text(written)
        code, _, err = npi("train", "examples/shelf.py:task", f"{other}:task", "--out", tmp_path / "m")
        assert (code, message in err) == (2, True), err
    assert not (tmp_path / "m").exists()


def test_version(npi):
    assert npi("--version") == (0, f"npi {__version__}\n", "")


def test_a_model_not_taught_a_task_says_so(npi, untrained):
    code, _, err = npi("run", "addition", "1", "2", "--model", untrained)
    assert code == 2
    assert "this model has not learned addition, only sorting" in err


def test_a_model_whose_programs_do_not_fit_says_so(npi, untrained):
    config = untrained / "config.json"
    config.write_text(config.read_text().replace('"BUBBLESORT"', '"OTHERSORT"'))
    code, _, err = npi("run", "sorting", "1", "2", "--model", untrained)
    assert code == 2
    assert "it has no program BUBBLESORT" in err


def test_evaluate_counts_answers_and_traces(npi, untrained):
    code, out, _ = npi("evaluate", "--task", "sorting", "--sizes", "3", "12", "--problems", "8")
    assert code == 0
    assert "100.0 % (67.6 to 100.0)" in out
    code, out, _ = npi(
        "evaluate", "--task", "addition", "--sizes", "4", "--problems", "8", "--engine", "neural", "--json"
    )
    [score] = json.loads(out)["scores"]
    assert (code, score["answers"], score["traces"]) == (0, 8, 8)
    code, out, _ = npi("evaluate", "--task", "sorting", "--sizes", "4", "--problems", "8", "--model", untrained)
    assert code == 1
    assert "wrong on (" in out
    assert npi("evaluate", "--task", "sorting", "--sizes", "0")[0] == 2
    assert npi("evaluate", "--task", "sortin")[0] == 2


def test_check_reports_on_built_in_tasks_and_files(npi, tmp_path):
    code, out, _ = npi("check", "sorting", "--problems", "10", "--teacher", "loop")
    assert code == 0
    assert "no fault found" in out
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import replace\nfrom npi import tasks\n"
        "task = replace(tasks.find('sorting'), answer=lambda problem: [])\n"
    )
    code, out, _ = npi("check", f"{file}:task", "--problems", "5")
    assert code == 1
    assert "fault: BUBBLESORT gives" in out
    code, out, _ = npi("check", f"{file}:task", "--problems", "5", "--json")
    assert len(json.loads(out)["faults"]) == 1
    for where, message in [
        (f"{file}:tsk", "did you mean 'task'?"),
        (str(file), "write"),
        (f"{tmp_path}/none.py:task", "there is no file"),
        ("nothing", "there is no task 'nothing'"),
    ]:
        code, _, err = npi("check", where)
        assert code == 2
        assert message in err
    file.write_text("def broken(")
    code, _, err = npi("check", f"{file}:task")
    assert code == 2
    assert "cannot be imported: SyntaxError" in err


def test_train_resumes_and_never_overwrites_unasked(npi, tiny, tmp_path):
    out = tmp_path / "model"
    code, output, _ = npi("train", "sorting", "--out", out, "--updates", "4", "--threads", "1")
    assert code == 1
    assert "not learned after 4 updates" in output
    assert "--resume" in output
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    code, _, err = npi("train", "sorting", "--out", out)
    assert code == 2
    assert "--resume" in err
    assert "--force" in err
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    code, _, err = npi("train", "addition", "--out", out, "--resume")
    assert code == 2
    assert "is of sorting (recursive)" in err
    for option, value in (("--seed", "77"), ("--config", "paper")):
        code, _, err = npi("train", "sorting", "--out", out, "--resume", option, value)
        assert (code, f"began with another {option}" in err) == (2, True)
    assert npi("train", "sorting", "--out", out, "--resume", "--updates", "6", "--seed", "0")[0] == 1
    assert (read_facts(out)["updates"], read_facts(out)["seed"]) == (6, 0)
    assert npi("train", "sorting", "--out", out, "--force", "--updates", "2", "--seed", "3")[0] == 1
    assert (read_facts(out)["updates"], read_facts(out)["seed"]) == (2, 3)


def test_train_says_what_is_wrong_before_it_starts(npi, tmp_path):
    (tmp_path / "file").write_text("")
    for argv, message in [
        (["sortin", "--out", tmp_path / "m"], "did you mean 'sorting'?"),
        (["--out", tmp_path / "m"], "name at least one task"),
        (["sorting", "--out", tmp_path / "m", "--resume"], "no training run to resume"),
        (["sorting", "--out", tmp_path / "m", "--updates", "0"], "--updates is 0"),
        (["sorting", "--out", tmp_path / "m", "--threads", "-1"], "--threads is -1"),
        (["sorting", "--out", tmp_path / "file"], "is a file"),
    ]:
        code, _, err = npi("train", *argv)
        assert (code, message in err) == (2, True), err
    assert not (tmp_path / "m").exists()


def test_train_into_a_place_that_cannot_be_written(npi, tiny, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = npi("train", "sorting", "--out", tmp_path / "file" / "m", "--updates", "2")
    assert code == 2
    assert "is a file" in err


def test_train_as_json_and_with_tensorboard(npi, tiny, tmp_path):
    out = tmp_path / "model"
    code, output, _ = npi(
        "train", "sorting", "--out", out, "--json", "--tensorboard", "--updates", "100", "--threads", "1"
    )
    lines = [json.loads(line) for line in output.splitlines()]
    assert lines[0]["update"] == 50
    assert set(lines[0]["accuracy"]) >= {"BUBBLE", "COMPSWAP"}
    assert lines[-1]["learned"] is (code == 0)
    assert list((out / "tensorboard").iterdir())


@pytest.mark.posix
def test_an_interrupted_training_run_is_saved_and_tells_how_to_resume(tmp_path):
    out = tmp_path / "model"
    command = [sys.executable, "-m", "npi.cli", "train", "addition", "--out", str(out), "--threads", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while not (out / "training.safetensors").exists() and time.monotonic() < deadline:
            time.sleep(0.2)
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        output, complaints = process.communicate(timeout=60)
    assert process.returncode == 130, complaints
    assert f"npi train addition --out {out} --teacher recursive --resume" in output
    assert "Traceback" not in complaints
    assert read_facts(out)["updates"] > 0


def test_output_that_nobody_reads_to_the_end_is_no_error():
    command = f"{sys.executable} -m npi.cli run sorting {' '.join('9876543210' * 2)} --trace | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, env=os.environ)
    assert done.stdout == "BUBBLESORT\n"
    assert "Traceback" not in done.stderr


def test_a_program_that_calls_itself_for_ever_is_shown_in_little_space(capsys):
    """A tree of a million calls inside each other, indented, would have 10^12 characters."""
    task = tasks.find("addition")
    trace = Trace(task.call, [Call("ADD")] * 300_000, "depth limit reached")
    print_runaway(Runaway(trace), task, False)
    printed = capsys.readouterr().err
    assert len(printed) < 2_000
    assert "300,001 calls deep" in printed


def test_more_updates_must_be_more(npi, tiny, tmp_path):
    out = tmp_path / "out"
    assert npi("train", "sorting", "--out", out, "--updates", 3)[0] == 1
    code, _, err = npi("train", "sorting", "--out", out, "--resume", "--updates", 2)
    assert code == 2
    assert "has made 3 updates and was to stop at 2: give more, such as --updates 6" in err
    assert npi("train", "sorting", "--out", out, "--resume", "--updates", 5)[0] == 1


@pytest.mark.posix
def test_a_full_disk_under_what_is_printed(npi):
    command = [sys.executable, "-m", "npi.cli", "run", "sorting", "2", "1", "--trace"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "could not be written: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_may_not_be_read(npi, monkeypatch, tmp_path):
    def refused(folder):
        raise PermissionError(13, "Permission denied", str(folder / "config.json"))

    monkeypatch.setattr("npi.network.checkpoint.read_description", refused)
    code, _, err = npi("run", "sorting", 2, 1, "--model", tmp_path)
    assert code == 2
    assert "config.json cannot be used: Permission denied" in err
