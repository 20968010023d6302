"""The commands about cars as a person types them, right and wrong."""

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

from npi import Memo, record, tasks
from npi.cars.views import Car
from npi.network.checkpoint import save_model
from npi.tasks import cars
from npi.training.config import IMAGES
from npi.training.trainer import make_trainer


@pytest.fixture(scope="module")
def untrained(tmp_path_factory):
    """A model with eyes that has learned nothing."""
    folder = tmp_path_factory.mktemp("models") / "untrained"
    training = make_trainer([replace(tasks.find("cars"), sizes=range(2), examples=2)], IMAGES)
    save_model(training.model, folder, {})
    return folder


@pytest.fixture
def led(monkeypatch):
    """Whoever is asked to decide, the teacher does."""
    task = tasks.find("cars")
    frames = [
        frame
        for start in cars.POSES
        for frame in record(task.env.of(cars.CarProblem(Car(1), start, cars.TARGET)), task.main)
    ]
    monkeypatch.setattr(sys.modules["npi.cli.run"], "decider", lambda *_: Memo.of(frames))


WAY = ("run", "cars", "--car", 1, "--azimuth", -60, "--elevation", 45)


def test_a_car_is_turned_and_the_way_is_drawn(npi, led, untrained, tmp_path):
    gif, png = tmp_path / "way.gif", tmp_path / "way.png"
    code, out, _ = npi(*WAY, "--model", untrained, "--trace", "--gif", gif, "--png", png)
    assert code == 0
    assert out.splitlines()[-1] == "azimuth 0, elevation 15"
    assert [line.strip() for line in out.splitlines()].count("RIGHT") == 4
    assert [line.strip() for line in out.splitlines()].count("DOWN") == 2
    assert Image.open(png).size[0] == 7 * 128  # where it starts, and one picture for each action
    assert Image.open(gif).n_frames >= 7  # pyright: ignore[reportAttributeAccessIssue]


def test_json(npi, led, untrained):
    code, out, _ = npi(*WAY, "--model", untrained, "--json")
    assert code == 0
    result = json.loads(out)
    assert result["right"]
    assert result["answer"] == [0, 15]


def test_an_untrained_model_fails_in_good_order(npi, untrained):
    code, _, err = npi(*WAY, "--target", 30, 0, "--model", untrained, "--max-steps", 200)
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
        (("--car", 1), "say which car and from where"),
        ((), "say which car and from where"),
        (("--car", 1, "--mesh", "a.glb", "--azimuth", 0, "--elevation", 15), "say which car"),
        (("--mesh", "gone.glb", "--azimuth", 0, "--elevation", 15), "there is no file gone.glb"),
        (("--car", 1, "--azimuth", 0, "--elevation", 15, "--gif", "way.mp4"), "does not end in .gif"),
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


def test_the_cache_says_its_size_and_is_cleared(npi, tmp_path, monkeypatch):
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
    rows = {row["what"]: row for row in json.loads(out)["rows"] if not row["what"].startswith(" ")}
    assert rows["unseen cars"]["problems"] == 55
    assert rows["seen cars, poses held out"]["problems"] == cars.HELD_OUT
    assert rows["unseen cars"]["answers"] < 20
    assert npi("cars", "evaluate", "--model", untrained, "--meshes", tmp_path / "gone")[0] == 2
    code, _, err = npi("cars", "evaluate", "--model", untrained, "--cars", 1, "--unseen-from", 0)
    assert code == 2
    assert "are those of training" in err
    assert npi("cars", "evaluate", "--model", untrained, "--meshes", tmp_path)[0] == 2


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
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes of the command
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.strip().splitlines()[-1] == "npi: interrupted"
    assert "Traceback" not in said
    assert 0 < len(list(views.glob("*.npz"))) < 720
    assert not list(views.glob("*.part"))
    assert not (tmp_path / "out").exists()
