"""Scores of a model on cars: which trajectories, in total and car by car."""

import pytest
import trimesh

from npi.cars.car import Car
from npi.cars.poses import PAPER_TARGET, POSES, steps_between
from npi.errors import BadInput
from npi.evaluation.car_scores import (
    PAPER_STEPS,
    CarSetScore,
    car_sets,
    mesh_families,
    score_cars,
    to_other_targets,
    within_paper_steps,
)
from npi.evaluation.score import Score
from npi.tasks import cars


def test_sets_of_cars():
    sets = car_sets(2, mesh_sets={"meshes: a": [Car(file="a.glb")], "meshes: b": [Car(file="b.glb")]})
    assert {name: len(problems) for name, problems in sets.items()} == {
        "training cars, held-out poses": 2 * cars.HELD_OUT_POSES,
        "unseen cars": 2 * len(POSES),
        "meshes: a": len(POSES),
        "meshes: b": len(POSES),
        "all meshes": 2 * len(POSES),
    }
    training = {problem.car.number for problem in sets["training cars, held-out poses"]}
    assert training == set(cars.TRAINING_CARS[:2])
    assert {problem.car.number for problem in car_sets(1, 2_000_000)["unseen cars"]} == {2_000_000}


def test_kinds_of_trajectories():
    problems = car_sets(1)["unseen cars"]
    near = within_paper_steps(problems)
    assert 0 < len(near) < len(problems)
    assert {steps_between(problem.start, problem.target) for problem in near} == set(range(PAPER_STEPS + 1))
    others = to_other_targets(problems)
    assert [problem.start for problem in others] == [problem.start for problem in problems]
    assert PAPER_TARGET not in {problem.target for problem in others}
    assert others == to_other_targets(problems)


def test_the_interval_counts_cars_and_not_trajectories():
    perfect, half = Score(None, 50, 50, 50, 0, ()), Score(None, 50, 25, 25, 0, ())
    one = CarSetScore("unseen cars", "all", {Car(1): perfect})
    many = CarSetScore("unseen cars", "all", {Car(number): perfect for number in range(56)})
    mixed = CarSetScore("unseen cars", "all", {Car(1): perfect, Car(2): half})
    assert one.on_target == many.on_target == 1
    assert one.on_target_95[0] < 0.25 < 0.9 < many.on_target_95[0]
    assert mixed.on_target == 0.75
    assert mixed.total.problems == 100


def test_the_shipped_model_turns_a_car(shipped):
    problems = [problem for problem in car_sets(1)["unseen cars"] if problem.start.elevation == 15]
    all_, near, other = score_cars(shipped, {"unseen cars": problems})
    assert all_.total.answers == all_.total.problems == 11
    assert near.total.answers == near.total.problems == 9
    assert other.total.problems == 11
    assert list(all_.by_car) == [Car(cars.SELECTION_CARS.start)]


def test_mesh_families(tmp_path):
    for name in ("a_one.stl", "a_two.stl", "b.stl"):
        trimesh.creation.box().export(tmp_path / name)
    families = mesh_families(tmp_path, "+X", "+Z")
    assert {name: len(members) for name, members in families.items()} == {"meshes: a": 2, "meshes: b": 1}
    assert families["meshes: b"] == [Car(file=str(tmp_path / "b.stl"), forward="+X", up="+Z")]
    (tmp_path / "broken.stl").write_text("this is no mesh")
    with pytest.raises(BadInput, match="broken"):
        mesh_families(tmp_path)
