"""Teaching until verified: counterexamples of a failed proof are taught too; what rows cannot repair is reported."""

from dataclasses import replace

import pytest

import npi
from npi import RIGHT, NotLearned, act, program, tasks
from npi.tasks.sorting import MOVE, POINTER1, lshift_recursive

ONE_ARRAY = replace(tasks.find("maximum"), sizes=(2,), examples=1)


@pytest.mark.slow
def test_a_program_taught_from_one_array_is_repaired_until_it_is_proved(shipped):
    attempts = []

    def note(report):
        if report.stage == "proving":
            attempts.append(report.details["maximum"])

    taught = npi.teach(ONE_ARRAY, shipped, until_verified=True, progress=note)
    entry = taught.training_info["taught"][-1]
    assert entry["proved"]
    assert entry["repair_rounds"] == len(attempts) - 1 >= 1
    assert attempts[0].wrong_nodes
    assert [attempt.proved for attempt in attempts] == [False] * (len(attempts) - 1) + [True]
    proof = npi.verify("maximum", taught)
    assert proof.proved
    assert npi.run("maximum", [3, 1, 4, 1, 5, 9, 2, 6], taught).answer == 9


@program
def go_back(pad):
    act(pad, MOVE, POINTER1, RIGHT)
    lshift_recursive(pad)


@pytest.mark.slow
def test_an_old_program_in_a_state_it_was_not_trained_in_is_named(shipped, tmp_path):
    task = replace(
        ONE_ARRAY, name="back", main=go_back, answer=lambda array: array[1], builds_on=(lshift_recursive,), sizes=(3,)
    )
    with pytest.raises(NotLearned, match=r"the proof fails in LSHIFT: back calls what the model knew before in states"):
        npi.teach(task, shipped, out=tmp_path / "out", until_verified=True)
    assert not (tmp_path / "out" / "model.safetensors").exists()


@pytest.mark.slow
def test_the_command_teaches_until_verified(npi, tmp_path):
    out = tmp_path / "taught"
    code, printed, err = npi("teach", "maximum", "--out", out, "--until-verified")
    assert (code, "every other row" in printed) == (0, True), err
    assert printed.startswith("proved")
    assert npi("verify", "maximum", "--model", out)[0] == 0
