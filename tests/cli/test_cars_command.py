"""`npi cars` and `npi run cars`, with valid and invalid arguments."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from PIL import Image
from samples.mesh_files import bad_files

from npi import record, tasks
from npi.cars.car import Car
from npi.cars.poses import PAPER_TARGET, POSES
from npi.evaluation.car_scores import CarSetScore
from npi.evaluation.score import Score
from npi.language.memo import Memo
from npi.network.checkpoint import save_model
from npi.tasks import cars
from npi.training.config import IMAGES
from npi.training.trainer import make_trainer


@pytest.fixture(scope="module")
def untrained(tmp_path_factory):
    """A model with an image encoder and random weights."""
    folder = tmp_path_factory.mktemp("models") / "untrained"
    training = make_trainer([replace(tasks.find("cars"), sizes=range(2), examples=2)], IMAGES)
    save_model(training.model, folder, {})
    return folder


@pytest.fixture
def perfect(monkeypatch):
    """The teacher's decisions on car 1 take the place of the network's."""
    task = tasks.find("cars")
    frames = [
        frame
        for start in POSES
        for frame in record(task.env.of(cars.CarProblem(Car(1), start, PAPER_TARGET)), task.main)
    ]
    monkeypatch.setattr("npi.network.neural_decider.NeuralDecider", lambda *_: Memo.of(frames))


RUN = ("run", "cars", "--car", 1, "--azimuth", -60, "--elevation", 45, "--engine", "neural")
ACTIONS = 4 + 2  # RIGHT from -60 to 0, DOWN from 45 to 15


def test_a_run_is_printed_and_drawn(npi, perfect, untrained, tmp_path):
    gif, png = tmp_path / "run.gif", tmp_path / "run.png"
    code, out, _ = npi(*RUN, "--model", untrained, "--trace", "--gif", gif, "--png", png)
    assert code == 0
    assert out.splitlines()[-1] == "azimuth 0, elevation 15"
    assert [line.strip() for line in out.splitlines()].count("RIGHT") == 4
    assert [line.strip() for line in out.splitlines()].count("DOWN") == 2
    assert Image.open(png).size[0] == (1 + ACTIONS) * 128  # the start, and one image for each action
    assert Image.open(gif).n_frames >= 1 + ACTIONS  # pyright: ignore[reportAttributeAccessIssue]


def test_a_run_as_json(npi, perfect, untrained):
    code, out, _ = npi(*RUN, "--model", untrained, "--json")
    assert code == 0
    result = json.loads(out)
    assert result["right"]
    assert result["answer"] == [0, 15]


def test_an_untrained_model_fails_with_exit_code_1(npi, untrained):
    code, _, err = npi(*RUN, "--target", 30, 0, "--model", untrained, "--max-steps", 200)
    assert code == 1
    assert err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--car", 1, "--azimuth", -90, "--elevation", 0), "azimuth -90 is not one the camera can have"),
        (("--car", 1, "--azimuth", 10, "--elevation", 0), "from -75 to 75 in steps of 15"),
        (("--car", 1, "--azimuth", 0, "--elevation", 75), "elevation 75 is not"),
        (("--car", 1, "--azimuth", 0, "--elevation", 15, "--target", 0, 7), "elevation 7 is not"),
        (("--car", -1, "--azimuth", 0, "--elevation", 15), "there is no car -1"),
        (("--car", 1), "name a car and the start of the camera"),
        ((), "name a car and the start of the camera"),
        (("--car", 1, "--mesh", "a.glb", "--azimuth", 0, "--elevation", 15), "name a car"),
        (("--mesh", "gone.glb", "--azimuth", 0, "--elevation", 15), "there is no file gone.glb"),
        (("--car", 1, "--azimuth", 0, "--elevation", 15, "--gif", "run.mp4"), "does not end in .gif"),
        (("--car", "x", "--azimuth", 0, "--elevation", 15), ""),
    ],
)
def test_bad_problems(npi, untrained, words, message):
    code, _, err = npi("run", "cars", *words, "--model", untrained)
    assert code == 2
    assert message in err


def test_options_of_cars_are_for_cars(npi):
    code, _, err = npi("run", "addition", 1, 2, "--car", 3)
    assert code == 2
    assert "for the task cars" in err


def test_bad_meshes(npi, untrained, tmp_path):
    for name, _ in bad_files(tmp_path):
        for command in (
            ("cars", "render", "--mesh", tmp_path / name, "--out", tmp_path / "out.png"),
            ("run", "cars", "--mesh", tmp_path / name, "--azimuth", 0, "--elevation", 15, "--model", untrained),
        ):
            code, _, err = npi(*command)
            assert code == 2
            assert name in err
    assert not (tmp_path / "out.png").exists()


def test_sheet_and_render(npi, tmp_path):
    assert npi("cars", "sheet", "--count", 3, "--out", tmp_path / "sheet.png")[0] == 0
    assert Image.open(tmp_path / "sheet.png").size == (3 * 128, 146)
    assert npi("cars", "render", "--car", 4, "--size", 64, "--out", tmp_path / "car.png")[0] == 0
    assert Image.open(tmp_path / "car.png").size == (64, 64)
    for words in (
        ("sheet", "--count", 0, "--out", "a.png"),
        ("render", "--out", "a.jpg"),
        ("render", "--car", -1, "--out", "a.png"),
        ("render", "--elevation", 100, "--out", "a.png"),
        ("render", "--size", 0, "--out", "a.png"),
        ("render", "--up", "+Z", "--forward", "up", "--mesh", "a.glb", "--out", "a.png"),
    ):
        assert npi("cars", *words)[0] == 2


def test_the_cache_is_measured_and_cleared(npi, tmp_path, monkeypatch):
    monkeypatch.setenv("NPI_CACHE", str(tmp_path))
    (tmp_path / "views").mkdir()
    (tmp_path / "views" / "a.npz").write_bytes(bytes(2**20))
    code, out, _ = npi("cars", "cache")
    assert (code, out.split(" in ")[0]) == (0, "1 cars, 1.0 MiB")
    code, out, _ = npi("cars", "cache", "--clear", "--json")
    assert json.loads(out)["bytes"] == 2**20
    assert npi("cars", "cache")[1].startswith("0 cars")


def test_evaluate_counts_trajectories(npi, untrained, tmp_path):
    code, out, _ = npi("cars", "evaluate", "--model", untrained, "--cars", 1, "--json")
    assert code == 0
    rows = {(row["cars"], row["trajectories"]): row for row in json.loads(out)["rows"]}
    unseen = rows["unseen cars", "to the paper's target"]
    assert unseen["problems"] == 55
    assert unseen["answers"] < 20
    assert unseen["by_car"].keys() == {"car 1000000"}
    assert unseen["by_car"]["car 1000000"]["answers"] == unseen["answers"]
    assert rows["training cars, held-out poses", "to the paper's target"]["problems"] == cars.HELD_OUT_POSES


def test_evaluate_prints_a_table(npi, untrained, monkeypatch):
    score = CarSetScore("unseen cars", "to other targets", {Car(1): Score(None, 50, 40, 30, 0, ())})
    monkeypatch.setattr("npi.evaluation.car_scores.score_cars", lambda *_, **__: iter([score, score]))
    code, out, _ = npi("cars", "evaluate", "--model", untrained, "--cars", 1)
    assert code == 0
    header, *rows = out.splitlines()
    assert header.split()[:2] == ["cars", "trajectories"]
    assert len(rows) == 2
    assert rows[0].split()[-1] == "30"
    assert "80.0 %" in rows[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--meshes", "gone"), "there is no folder gone"),
        (("--meshes", "."), "holds no meshes"),
        (("--cars", 1, "--first-unseen", 0), "is not unseen"),
        (("--cars", 3), "3 cars are too many"),
        (("--cars", 0), "--cars is 0"),
    ],
)
def test_evaluate_refuses(npi, untrained, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    code, _, err = npi("cars", "evaluate", "--model", untrained, *words)
    assert code == 2
    assert message in err


@pytest.mark.posix
def test_rendering_can_be_interrupted(tmp_path):
    command = [sys.executable, "-m", "npi.cli", "train", "cars", "--out", str(tmp_path / "out")]
    environment = {**os.environ, "NPI_CACHE": str(tmp_path)}
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        views = tmp_path / "views"
        limit = time.monotonic() + 60
        while not list(views.glob("*.npz")) and time.monotonic() < limit:
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C in a terminal: to all processes of the command
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip().splitlines()[-1] == "npi: interrupted"
    assert "Traceback" not in err
    assert 0 < len(list(views.glob("*.npz"))) < 720
    assert not list(views.glob("*.part"))
    assert not (tmp_path / "out").exists()
