import pytest
import torch

from npi import NPI, BadInput
from npi.network.model import ModelConfig
from npi.tasks.addition import AdditionPad
from npi.tasks.sorting import SortingPad

NAMES = ["ACT", "ADD", "LSHIFT"]


def small(programs=NAMES):
    torch.manual_seed(0)
    return NPI(
        ModelConfig.of(
            [AdditionPad, SortingPad], lstm_width=16, state_width=8, embedding_width=8, key_width=4, encoder_width=8
        ),
        programs,
    )


def queries(count):
    observation = torch.randint(10, (count, 4))
    return observation, torch.zeros(count, 3, dtype=torch.long), torch.randint(3, (count,))


def test_a_configuration_fits_all_its_environments():
    config = ModelConfig.of([AdditionPad, SortingPad])
    assert config.argument_sizes == (2, 4, 11)
    assert config.fields["SortingPad"] == {
        "value1": 10, "value2": 10, "start1": 2, "end1": 2, "start2": 2, "end2": 2, "end3": 2
    }  # fmt: skip
    assert (config.lstm_width, config.lstm_layers) == (256, 2)  # the paper's core


def test_rows_can_be_added_and_leave_the_rest_alone():
    model = small()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.add_program("MAX")
    model.add_program("RJMP", generation=1)
    with pytest.raises(BadInput, match="already has a program ADD"):
        model.add_program("ADD")
    assert model.programs == [*NAMES, "MAX", "RJMP"]
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor[:3] if name in ("keys", "embeddings") else tensor, before[name])
    assert model.keys.shape[0] == model.embeddings.shape[0] == 5
    assert model.keys.requires_grad


def test_a_program_is_found_by_content():
    model = small()
    hidden = torch.randn(5, 16)
    key = model.program_head(hidden)
    found = model.logits(hidden, torch.zeros(5, dtype=torch.long)).program
    assert torch.allclose(found, torch.stack([key @ row for row in model.keys], 1), atol=1e-5)


def test_a_program_cannot_find_those_of_later_generations():
    model = small()
    model.add_program("NEW", generation=1)
    programs = torch.tensor([0, 3, 1, 3])
    found = model.logits(torch.randn(4, 16), programs).program
    assert found[:, 3].isfinite().tolist() == [False, True, False, True]
    assert found[:, :3].isfinite().all()


def test_a_program_is_found_by_the_best_of_its_keys():
    model = small()
    model.add_program("NEW", generation=1)
    model.add_key(NAMES[1], torch.randn(model.config.key_width), generation=1)
    model.add_key(NAMES[2], torch.randn(model.config.key_width), generation=0)
    hidden, programs = torch.randn(50, 16), torch.tensor([0, 3] * 25)
    scores = model.program_head(hidden) @ model.keys.T
    found = model.logits(hidden, programs).program
    assert found.shape == (50, 4)
    assert torch.equal(found[:, 0], scores[:, 0])
    expected = torch.where(programs == 3, torch.maximum(scores[:, 1], scores[:, 4]), scores[:, 1])  # only NEW sees it
    assert torch.equal(found[:, 1], expected)
    assert torch.equal(found[:, 2], torch.maximum(scores[:, 2], scores[:, 5]))


def test_steps_one_by_one_are_a_sequence():
    """The LSTM over packed frames of different lengths equals single steps with the state passed along."""
    model = small().eval()
    lengths = [4, 3, 1]
    frames = [queries(length) for length in lengths]
    going = torch.tensor([3, 2, 2, 1])
    order = [(time, frame) for time in range(4) for frame in range(3) if time < lengths[frame]]
    observation, args, programs = (torch.stack([frames[f][part][t] for t, f in order]) for part in range(3))
    with torch.no_grad():
        packed = model.frame_logits(model.encode("AdditionPad", observation, args), programs, going)
        for frame, length in enumerate(lengths):
            state = (torch.zeros(2, 1, 16), torch.zeros(2, 1, 16))
            for time in range(length):
                observation, args, programs = (part[time : time + 1] for part in frames[frame])
                logits, state = model.step("AdditionPad", observation, args, programs, state)
                row = order.index((time, frame))
                assert torch.allclose(logits.stop, packed.stop[row : row + 1], atol=1e-5)
                assert torch.allclose(logits.program, packed.program[row : row + 1], atol=1e-5)


def test_shapes_are_checked_in_the_test_run():
    model = small()
    observation, args, _ = queries(2)
    with pytest.raises(Exception, match="Type-check"):
        model.encode("AdditionPad", observation.float(), args)
    with pytest.raises(Exception, match="Type-check"):
        model.heads(torch.zeros(3, 4, 5))
