from dataclasses import replace

import numpy as np
import pytest
import torch

from npi import FAST, PAPER, Limits, Memo, Neural, Trace, load_model, record, run_all, tasks
from npi.network.encoders import colours
from npi.training.config import PICTURES
from npi.training.dataset import Lessons, demonstrations, programs_of
from npi.training.loss import caption_loss, loss_of
from npi.training.metrics import count_wrong, follows, outputs
from npi.training.resume import restore_training, save_training
from npi.training.trainer import Training, begin

SHORT = replace(FAST, batch=16, estimate_every=5, estimate_frames=20)


def few(name, teacher="recursive", sizes=range(2, 5), examples=4):
    return replace(tasks.find(name, teacher), sizes=sizes, examples=examples)


def weights(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def same(left, right):
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def no_pictures(env, which):
    raise AssertionError(f"{env} shows no pictures")


def test_a_batch_of_mixed_frames_has_the_losses_of_its_frames_alone():
    training = begin([few("addition", "loop"), few("sorting", "loop")], SHORT)
    lessons = training.lessons
    chosen = lessons.longest_first(np.random.default_rng(0).choice(len(lessons), 12, replace=False))
    assert len(set(lessons.env[chosen])) == 2
    with torch.no_grad():
        batch = lessons.batch(chosen)
        together = loss_of(outputs(training.model, lessons, batch, no_pictures), batch)
        for column, frame in enumerate(chosen):
            alone = lessons.batch(np.array([frame]))
            losses = loss_of(outputs(training.model, lessons, alone, no_pictures), alone)
            assert torch.allclose(together[batch.frame == column], losses, atol=1e-4)


def test_every_distinct_frame_is_kept_once():
    pairs = list(demonstrations([few("addition"), few("addition")], 0))
    assert len(pairs) == len(set(pairs))
    assert programs_of(pairs) == ["ACT", "ADD", "ADD1", "CARRY", "LSHIFT", "RSHIFT"]


def test_the_curriculum_turns_to_the_programs_with_the_largest_error():
    training = begin([few("sorting")], replace(FAST, uniform=0.0, review=0.0))
    worst = training.lessons.programs.index("COMPSWAP")
    training.error[:] = [0.5 if unit.row == worst else 0.0 for unit in training.units]
    assert set(training.lessons.program[training.draw()]) == {worst}
    training.error[:] = 0.0
    assert len(set(training.lessons.program[training.draw()])) == 7


def test_frames_found_wrong_are_reviewed_and_steps_are_bounded():
    training = begin([few("addition", "loop", sizes=range(1, 15))], replace(FAST, review=0.5, batch=64, steps=150))
    wrong = int(np.nonzero(training.lessons.length == training.lessons.length.max())[0][0])
    training.wrong[wrong] = True
    drawn = [training.draw() for _ in range(20)]
    assert sum(wrong in chosen for chosen in drawn) >= 15
    assert all(training.lessons.length[chosen].sum() <= 150 for chosen in drawn)


def test_the_papers_configuration_is_the_papers():
    assert (PAPER.batch, PAPER.learning_rate, PAPER.decay, PAPER.decay_every) == (1, 1e-4, 0.95, 10_000)
    assert PAPER.estimate_every == 1_000
    training = begin([few("sorting")], replace(PAPER, updates=3))
    assert [metrics.update for metrics in training.run()] == [1, 2, 3]
    assert len(training.draw()) == 1


@pytest.mark.parametrize(
    ("names", "stop", "practice"),
    [("sorting", 3, 0), ("sorting", 5, 0), ("sorting", 12, 0), ("cars", 3, 0), ("addition sorting cars", 3, 5)],
)
def test_a_resumed_run_gives_the_same_bits(tmp_path, names, stop, practice):
    short = SHORT if "cars" not in names else replace(PICTURES, batch=8, pictures=16, estimate_every=2)
    learn = [few(name) for name in names.split()]
    config = replace(short, updates=20 if names == "sorting" else 6, practice=practice, drill=16)
    unbroken = begin(learn, config, seed=3)
    for _ in unbroken.run():
        pass
    first = begin(learn, config, seed=3)
    for metrics in first.run():
        if metrics.update == stop:
            break
    save_training(first, tmp_path)
    second = begin(learn, config, seed=3)
    restore_training(second, tmp_path)
    assert second.updates == stop
    for _ in second.run():
        pass
    assert same(weights(second.model), weights(unbroken.model))
    assert same(weights(second.average), weights(unbroken.average))
    assert np.array_equal(second.error, unbroken.error)
    if practice:
        assert same(weights(second.drill), weights(unbroken.drill))


@pytest.mark.parametrize("practice", [0, 5])
def test_the_same_seed_gives_the_same_bits_on_several_threads(practice):
    """An index whose gradient is summed by several threads would not."""
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        runs = [begin([few("addition")], replace(FAST, practice=practice, updates=6)) for _ in range(3)]
        for training in runs:
            list(training.run())
    finally:
        torch.set_num_threads(threads)
    assert all(same(weights(training.model), weights(runs[0].model)) for training in runs)


def test_a_resumed_run_with_other_batches_would_be_noticed(tmp_path):
    """The comparison above can fail: forgetting the state of the batches gives other bits."""
    task, config = few("sorting"), replace(SHORT, updates=10)
    training = begin([task], config, seed=3)
    for metrics in training.run():
        if metrics.update == 4:
            save_training(training, tmp_path)
    second = begin([task], config, seed=3)
    restore_training(second, tmp_path)
    second.rng = np.random.default_rng(99)
    for _ in second.run():
        pass
    assert not same(weights(second.model), weights(training.model))


def test_what_is_learnt_is_every_frame_and_is_run_as_taught():
    """A real training run: recursive sorting of short arrays, to 100 % of its frames, then used on longer ones."""
    task = replace(tasks.find("sorting", "recursive"), sizes=range(1, 9), examples=40)
    training = begin([task], FAST, seed=0)
    *_, metrics = training.run()
    assert metrics.learnt
    assert set(metrics.accuracy.values()) == {1.0}
    _, mistakes = training.count_wrong(np.ones(len(training.lessons), dtype=bool))
    assert mistakes.sum() == 0
    problems = task.problems(25, 10, seed=9)
    envs = [task.env.of(problem) for problem in problems]
    traces = run_all(envs, task.call, Memo(Neural(training.average, task.env)), Limits(100_000))
    assert [task.result(env) for env in envs] == [sorted(problem) for problem in problems]
    assert traces == [Trace.of(record(task.env.of(problem), task.main)) for problem in problems]


def test_neither_pictures_nor_pads_starve():
    """One update looks at frames with pictures and frames without, whatever their errors are."""
    config = replace(SHORT, batch=12, pictures=7, uniform=0.0)
    training = begin([few("sorting"), few("cars"), few("addition")], config)
    training.error[:] = [0.9 if unit.pictured else 0.0 for unit in training.units]
    cars = training.lessons.envs.index("CarScene")
    assert (training.lessons.env[training.draw()] == cars).sum() == 7
    assert len(training.draw()) == 19
    training.learnt = True
    assert (training.lessons.env[training.draw()] == cars).sum() == 7


def test_programs_of_the_same_name_share_a_row():
    training = begin([few("addition"), few("sorting")], SHORT)
    row = training.lessons.programs.index("LSHIFT")
    envs = {training.lessons.envs[env] for env in training.lessons.env[training.lessons.program == row]}
    assert envs == {"AdditionPad", "SortingPad"}
    assert training.model.programs.count("LSHIFT") == 1


def test_every_picture_is_kept_once_with_its_caption():
    pairs = list(demonstrations([few("cars", sizes=range(6), examples=30), few("sorting")], 0))
    lessons = Lessons(pairs, programs_of(pairs))
    pictures, captions = lessons.pictures["CarScene"], lessons.captions["CarScene"]
    assert len({picture.numpy().tobytes() for picture in pictures}) == len(pictures) == len(captions)
    for (env, frame), first in zip(pairs, lessons.first, strict=True):
        for index, step in enumerate(frame.steps):
            if env == "CarScene":
                place = lessons.picture[first + index]
                assert np.array_equal(pictures[place].permute(1, 2, 0).numpy(), step.seen[-1].pixels)
                assert tuple(captions[place].tolist()) == step.seen[-1].caption


def test_a_caption_is_told_but_never_shown():
    task = few("cars", sizes=range(3), examples=4)
    with_captions, without = (begin([task], replace(SHORT, caption=weight)) for weight in (1.0, 0.0))
    for training in (with_captions, without):
        training.update()
    assert with_captions.loss > without.loss + 1  # of eleven azimuths and five elevations, log 55 at first
    everything = np.ones(len(without.lessons), dtype=bool)
    before = count_wrong(without.model, without.lessons, everything)[1]
    without.lessons.captions["CarScene"] += 1
    assert np.array_equal(count_wrong(without.model, without.lessons, everything)[1], before)


def test_the_loss_of_a_caption():
    glimpse = torch.tensor([[0.5, 0.25, 0.25, 0.9, 0.1], [0.2, 0.2, 0.6, 0.5, 0.5]])
    captions = torch.tensor([[0, 0], [2, 1]])
    expected = -np.mean([np.log(0.5 * 0.9), np.log(0.6 * 0.5)])
    assert caption_loss(glimpse, captions, (3, 2)).item() == pytest.approx(expected, abs=1e-4)


def test_poses_are_learnt_from_pictures(monkeypatch):
    """A tiny real training run: the pictures of two cars as they are, to nine frames of ten right in every program."""
    monkeypatch.setattr("npi.train.vary", lambda pictures, rng: colours(pictures))
    config = replace(PICTURES, updates=500, estimate_every=25, average=0.9, goal=0.9, settle=0)
    training = begin([few("cars", sizes=range(15), examples=40)], config, seed=0)
    training.estimate()
    assert min(training.metrics().accuracy.values()) < 0.2
    *_, metrics = training.run()
    assert metrics.learnt
    assert min(metrics.accuracy.values()) >= 0.9


def test_a_wrong_decision_is_counted():
    """The measure of learning can fail: a fault planted in the teacher's frames is found."""
    task = few("sorting")
    pairs = list(demonstrations([task], 0))
    programs = programs_of(pairs)
    training = Training(begin([task], SHORT).model, Lessons(pairs, programs), SHORT, 0)
    for _ in range(150):
        training.update()
    right = training.count_wrong(np.ones(len(pairs), dtype=bool))[1]
    frame = int(np.nonzero(right == 0)[0][0])
    step = training.lessons.first[frame]
    training.lessons.stop[step] = ~training.lessons.stop[step]
    after = training.count_wrong(np.ones(len(pairs), dtype=bool))[1]
    assert after[frame] == 1


def test_a_model_follows_its_teacher_or_not():
    """Asking about the frames of a run says the same as the run, for a model that is right and for one that is not."""
    model, task = load_model(), tasks.find("addition")
    problems = task.problems(1, 30, seed=0)
    assert all(follows(model, task, problem) for problem in problems)
    rows = model.get_parameter("encoders.AdditionPad.rows.weight")
    with torch.no_grad():
        rows[[3, 8]] = rows[[8, 3]]  # it takes a 3 of the first number for an 8, and the other way round
    followed = [follows(model, task, problem) for problem in problems]
    expected = [Trace.of(record(task.env.of(problem), task.main)) for problem in problems]
    envs = [task.env.of(problem) for problem in problems]
    ran = run_all(envs, task.call, Neural(model, task.env), Limits(10_000))
    assert followed == [mine == teachers for mine, teachers in zip(ran, expected, strict=True)]
    assert set(followed) == {True, False}


def test_an_annealed_rate_falls_along_a_cosine():
    task = replace(tasks.find("sorting"), sizes=[2], examples=2)
    training = begin([task], replace(FAST, anneal=True, updates=1000, learning_rate=1.0, warmup=1, floor=0.1))
    rates = []
    for training.updates in (0, 500, 1000, 1500):
        rates.append(round(training.rate(), 6))
    assert rates == [1.0, 0.5, 0.1, 0.1]


def test_the_prior_of_a_practised_model_is_that_of_its_last_update():
    task = replace(tasks.find("sorting"), sizes=[2], examples=2)
    config = replace(FAST, practice=20, drill=16, updates=3, estimate_every=2)
    training = begin([task], config)
    for _ in training.run():
        pass
    assert training.drill is not None
    assert torch.equal(training.average.usual, training.drill.prior().usual)
