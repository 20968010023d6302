"""Topological sort: both teachers against the definition of the order, and edges as words and files."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from samples.certificates import certified
from samples.graphs import graphs

from npi import BadInput, tasks
from npi.proof.program_table import save_table
from npi.tasks.toposort import parse


def in_order(problem, order):
    place = {vertex: index for index, vertex in enumerate(order)}
    assert sorted(order) == sorted(vertex for vertex, _ in problem)
    assert all(place[vertex] < place[child] for vertex, children in problem for child in children)


@pytest.mark.parametrize("teacher", tasks.TEACHERS)
def test_every_edge_points_forward(teacher):
    task, rng = tasks.find("toposort", teacher), Random(5)
    problems = [*graphs(3), *(task.sample(rng, rng.randint(1, 30)) for _ in range(500))]
    problems += [problem for size in (1, 2, 9, 40) for problem in task.corner_cases(size)]
    for problem in problems:
        pad = task.env.of(problem)
        task.main(pad)
        in_order(problem, task.result(pad))
        assert task.result(pad) == task.answer(problem)


def test_the_number_of_small_graphs_is_right():
    counts = Counter(len(problem) for problem in graphs(4))
    assert counts == {1: 2 * 1, 2: 2 * 3, 3: 2 * 25, 4: 2 * 543}


def test_problems_are_of_every_shape():
    rng, shapes = Random(0), set()
    for _ in range(300):
        problem = tasks.find("toposort").sample(rng, 8)
        assert len(problem) == 8
        edges = [(vertex, child) for vertex, children in problem for child in children]
        ends = [len({edge[end] for edge in edges}) for end in (0, 1)]
        shapes.add("chain" if len(edges) == 7 == ends[0] == ends[1] else min(len(edges), 12))
    assert shapes >= {"chain", 0, 1, 2, 4, 8, 12}
    assert tasks.find("toposort").sample(rng, 1) == (("1", ()),)


def test_long_chains_have_answers():
    forwards, backwards, *_ = tasks.find("toposort").corner_cases(10_000)
    in_order(forwards, tasks.find("toposort").answer(forwards))
    in_order(backwards, tasks.find("toposort").answer(backwards))


@pytest.fixture(scope="module")
def table(explore, tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "toposort.json"
    save_table(certified(explore("toposort").table), path)
    return path


@pytest.fixture
def sorts(npi, table):
    return lambda *words: npi("run", "toposort", *words, "--table", table)


def test_edges_are_words_or_lines_of_a_file(sorts, tmp_path):
    assert sorts("shirt:tie", "tie:jacket") == (0, "shirt tie jacket\n", "")
    file = tmp_path / "edges.txt"
    file.write_text("\ufeff# what comes first\n\nshirt  tie\n\ttie jacket\r\n hat\nshirt tie\n  # the end", "utf-8")
    assert sorts(file) == (0, "hat shirt tie jacket\n", "")
    code, out, _ = sorts(file, "jacket:coat", "hat:coat")
    assert (code, out.split()) == (0, ["hat", "shirt", "tie", "jacket", "coat"])
    assert parse([str(file)]) == (("shirt", ("tie",)), ("tie", ("jacket",)), ("jacket", ()), ("hat", ()))


def test_long_files_are_sorted(sorts, tmp_path):
    file = tmp_path / "chain.txt"
    file.write_text("\n".join(f"v{i} v{i + 1}" for i in reversed(range(20_000))))
    code, out, _ = sorts(file)
    assert (code, out.split()) == (0, [f"v{i}" for i in range(20_001)])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a b\nb c d\n", "edges.txt: line 2 is 'b c d': write two names on a line"),
        (b"a b c\n" * 5, "line 3 is 'a b c', and 2 more: write"),
        (b"a b\n" + b"x" * 99 + b" y z", "line 2 is 'xxx"),
        (b"\x00\x01 \x02\n", r"line 1 is '\x00\x01 \x02'"),
        (b"\x89PNG\r\n\xff\xfe", "holds something other than text"),
        ("a b".encode("utf-16"), "holds something other than text"),
        (b"", "edges.txt names no vertex: give edges"),
        (b"# nothing\n\n", "edges.txt names no vertex: give edges"),
        (b"a a", "a -> a is a cycle"),
        (b"x a\na b\nb c\nc a\nc d", "is a cycle, so there is no order to put it in: leave out one of these edges"),
    ],
)
def test_invalid_files_are_refused_with_a_reason(sorts, tmp_path, content, message):
    file = tmp_path / "edges.txt"
    file.write_bytes(content)
    code, out, err = sorts(file)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is nothing to sort: give edges such as shirt:tie"),
        (["edgs.txt"], "'edgs.txt' is neither an edge nor an existing file"),
        (["a:b", "a:"], "'a:' is neither"),
        ([":b"], "':b' is neither"),
        (["a:b:c"], "'a:b:c' is neither"),
        ([""], "'' is neither"),
        (["/"], "/ is a folder"),
        (["a:b", "b:a"], "(a -> b -> a|b -> a -> b) is a cycle"),
        (["a:" + "x" * 5000, "n:n"], "n -> n is a cycle"),
    ],
)
def test_invalid_words_are_refused_with_a_reason(words, message):
    with pytest.raises(BadInput, match=message):
        parse(words)


def test_a_cycle_is_named_along_its_edges():
    with pytest.raises(BadInput) as refused:
        parse(["x:a", "a:b", "b:c", "c:a", "c:d", "d:e"])
    named = str(refused.value).split(" is a cycle")[0].split(" -> ")
    assert named[0] == named[-1]
    assert sorted(named[1:]) == ["a", "b", "c"]
    assert all(edge in {("a", "b"), ("b", "c"), ("c", "a")} for edge in pairwise(named))
