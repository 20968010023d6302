"""Experiments: every run is stored, none is repeated, and runs of two revisions are never mixed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from npi.errors import BadInput
from npi.evaluation import machine
from npi.evaluation.experiment import (
    Failure,
    PaperClaim,
    experiment_names,
    find_experiment,
    make_runs,
)
from npi.evaluation.results import Run

REAL = Path(__file__).parents[2] / "experiments"
SCRIPT = """
import time
from pathlib import Path
from npi.evaluation.experiment import Experiment, PaperClaim

def runs(quick):
    return [{"number": number, "seed": 0} for number in range(2 if quick else 4)]

def measure(device, number, seed):
    with open(Path(__file__).with_name("made.txt"), "a") as file:
        file.write(f"{number}\\n")
    if Path(__file__).with_name(f"break{number}").exists():
        raise ValueError(f"{number} is broken")
    if Path(__file__).with_name("slow").exists() and number:
        time.sleep(60)
    return {"square": number * number}

def report(made):
    return ", ".join(str(run.result["square"]) for run in made)

def draw(made, path):
    import no_such_library

def greatest(made):
    return ["at least 0", f"up to {max(run.result['square'] for run in made)}"]

def judge(made):
    return "better" if len(made) > 3 else None

CLAIM = PaperClaim("C7", "Squares are squares.", greatest, "one is not.", "they are", "up to 4", judge)
BEST = PaperClaim("C7", "With our recipe.", lambda made: [f"{len(made)} runs"])
EXPERIMENT = Experiment("Squares", [CLAIM, BEST], runs, measure, report)
"""


@pytest.fixture
def folder(tmp_path):
    """An experiment of four runs, which writes down each that it makes."""
    place = tmp_path / "experiments"
    place.mkdir()
    (place / "squares.py").write_text(SCRIPT)
    return place


def made(folder):
    return sorted((folder / "made.txt").read_text().split())


def test_every_run_is_kept_and_none_is_made_twice(npi, folder):
    code, out, err = npi("reproduce", "squares", "--folder", folder)
    page = folder.parent / "docs" / "results.md"
    assert (code, out) == (0, f"wrote {page}\n")
    assert "squares: 4 of 4 runs, about 0:00:00 left" in err
    kept = json.loads((folder / "results" / "squares.json").read_text())
    assert sorted(run["result"]["square"] for run in kept["runs"]) == [0, 1, 4, 9]
    assert all(run["machine"]["torch"] and run["machine"]["npi"] and run["seconds"] >= 0 for run in kept["runs"])
    text = page.read_text()
    assert "| C7 | up to 4 | at least 0<br>up to 9 | 4 runs | **better** | they are |" in text
    assert "## Squares\n\n- **C7**: Squares are squares. *Deviation:* one is not.\n" in text
    assert '<details markdown="1"><summary>Details</summary>\n\n0, 1, 4, 9\n\n</details>' in text
    assert "`npi reproduce squares`: 4 runs" in text
    assert f"| 4 | {kept['runs'][0]['machine']['commit']} | {kept['runs'][0]['machine']['npi']} |" in text
    page.unlink()
    assert npi("reproduce", "all", "--folder", folder)[0] == 0
    assert made(folder) == ["0", "1", "2", "3"]
    assert page.read_text() == text
    assert npi("reproduce", "all", "--fresh", "--folder", folder)[0] == 0
    assert len(made(folder)) == 8


def test_a_claim_without_enough_runs_has_no_verdict(npi, folder):
    (folder / "break2").touch()
    npi("reproduce", "squares", "--folder", folder)
    text = (folder.parent / "docs" / "results.md").read_text()
    assert "| C7 | up to 4 | at least 0<br>up to 9 | 3 runs | not measured | they are |" in text


def test_benchmarks_have_a_page_of_their_own(npi, folder):
    """Claims of the paper are on one page, claims of this project on the other; one command writes both."""
    (folder / "cubes.py").write_text(
        SCRIPT.replace("Squares", "Cubes").replace("C7", "cubes").replace("report)", "report, page='benchmarks')")
    )
    code, out, _ = npi("reproduce", "squares", "--folder", folder)
    pages = [folder.parent / "docs" / name for name in ("results.md", "benchmarks.md")]
    assert (code, out) == (0, f"wrote {pages[0]} and {pages[1]}\n")
    results, benchmarks = (page.read_text() for page in pages)
    assert "No runs yet: `npi reproduce cubes`" in benchmarks
    assert "## Cubes" not in results
    assert npi("reproduce", "cubes", "--folder", folder)[0] == 0
    assert "up to 9 | `npi reproduce cubes` |" in pages[1].read_text()
    assert pages[0].read_text() == results


def test_shared_work_is_done_once_and_only_for_missing_runs(npi, folder):
    text = with_arguments("prepare=prepare").replace(
        "def report(",
        "def prepare(missing):\n"
        "    Path(__file__).with_name('prepared.txt').write_text(str(len(missing)))\n"
        "    yield 1, 1\n\n"
        "def report(",
    )
    (folder / "squares.py").write_text(text)
    prepared = folder / "prepared.txt"
    (folder / "break2").touch()
    assert npi("reproduce", "squares", "--workers", "2", "--folder", folder)[0] == 1
    assert prepared.read_text() == "4"
    (folder / "break2").unlink()
    assert npi("reproduce", "squares", "--folder", folder)[0] == 0
    assert prepared.read_text() == "1"
    prepared.unlink()
    assert npi("reproduce", "squares", "--folder", folder)[0] == 0
    assert not prepared.exists()


def test_a_copy_without_git_names_its_commit(monkeypatch):
    monkeypatch.setattr(subprocess, "run", Mock(side_effect=FileNotFoundError("git")))
    assert machine.commit() is None
    monkeypatch.setenv("NPI_COMMIT", "0123456789ab")
    assert machine.commit() == "0123456789ab"


def test_quick_runs_have_a_place_of_their_own(npi, folder):
    assert npi("reproduce", "all", "--quick", "--folder", folder)[0] == 0
    assert made(folder) == ["0", "1"]
    page = (folder / "quick" / "results.md").read_text()
    assert page.startswith("# Quick runs\n")
    assert "- **C7**: Squares are squares.\n- **C7**: With our recipe.\n\n0, 1\n" in page  # deviations take full runs
    assert "`npi reproduce squares --quick`: 2 runs" in page
    assert not (folder / "results").exists()
    assert not (folder.parent / "docs").exists()


def test_a_run_that_fails_is_named_and_made_again(npi, folder):
    (folder / "break2").touch()
    code, _, err = npi("reproduce", "squares", "--workers", "2", "--folder", folder)
    assert code == 1
    assert "squares {'number': 2, 'seed': 0} failed: ValueError: 2 is broken; the same command repeats it" in err
    err = npi("reproduce", "squares", "--fresh", "--folder", folder)[2]
    assert "2 is broken; the same command without --fresh repeats it" in err  # with it, all would be made again
    assert "**1 runs are missing.**" in (folder.parent / "docs" / "results.md").read_text()
    (folder / "break2").unlink()
    assert npi("reproduce", "squares", "--folder", folder)[0] == 0
    assert made(folder) == ["0", "0", "1", "1", "2", "2", "2", "3", "3"]


@pytest.mark.posix
def test_an_interrupted_experiment_resumes(folder):
    (folder / "slow").touch()
    command = [sys.executable, "-m", "npi.cli", "reproduce", "squares", "--folder", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    kept = folder / "results" / "squares.json"
    deadline = time.monotonic() + 60
    while not kept.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "finished runs are stored; the same command makes the others" in err
    assert [run["settings"]["number"] for run in json.loads(kept.read_text())["runs"]] == [0]
    (folder / "slow").unlink()
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    assert made(folder).count("0") == 1
    assert len(json.loads(kept.read_text())["runs"]) == 4


@pytest.mark.posix
def test_runs_end_with_the_command_that_made_them(folder):
    """However it ends: a run left over would go on for hours."""
    (folder / "slow").touch()
    command = [sys.executable, "-m", "npi.cli", "reproduce", "squares", "--folder", str(folder)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while not (folder / "results" / "squares.json").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert (folder / "results" / "squares.json").exists()
    process.kill()
    # The workers hold this end of the pipe too: it closes, and communicate returns in time, only when they are gone.
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL


def with_arguments(arguments):
    """The script, with further arguments for its experiment."""
    return SCRIPT.replace("report)", f"report, {arguments})")


def test_runs_of_two_revisions_are_not_mixed(npi, folder):
    def refusal(arguments):
        (folder / "squares.py").write_text(with_arguments(arguments))
        code, _, err = npi("reproduce", "squares", "--folder", folder)
        assert code == 2
        assert "--fresh" in err
        assert stored.read_text() == now
        return err

    (folder / "squares.py").write_text(with_arguments("config={'npi': {'batch_size': 1}}"))
    assert npi("reproduce", "squares", "--folder", folder)[0] == 0
    stored = folder / "results" / "squares.json"
    now = stored.read_text()
    assert "(revision 1 in the file, 2 now)" in refusal("revision=2")
    assert "(config npi batch_size 1 in the file, 3 now)" in refusal("config={'npi': {'batch_size': 3}}")
    (folder / "squares.py").write_text(with_arguments("config={'npi': {'batch_size': 3}}"))
    assert npi("reproduce", "squares", "--fresh", "--folder", folder)[0] == 0


def test_runs_survive_a_release_and_a_new_hyperparameter(npi, folder):
    (folder / "squares.py").write_text(with_arguments("config={'npi': {'batch_size': 1, 'dropped': 2}}"))
    assert npi("reproduce", "squares", "--folder", folder)[0] == 0
    stored = folder / "results" / "squares.json"
    stored.write_text(stored.read_text().replace('"npi": "', '"npi": "9.'))
    (folder / "squares.py").write_text(with_arguments("config={'npi': {'batch_size': 1, 'added': 3}}"))
    assert npi("reproduce", "squares", "--folder", folder)[0] == 0
    assert len(made(folder)) == 4  # each once: no run was repeated


def test_what_is_forgotten_stays_until_something_new_is_kept(npi, folder):
    assert npi("reproduce", "squares", "--folder", folder)[0] == 0
    kept = folder / "results" / "squares.json"
    before = kept.read_text()
    for number in range(4):
        (folder / f"break{number}").touch()
    assert npi("reproduce", "squares", "--fresh", "--folder", folder)[0] == 1
    assert kept.read_text() == before


def test_a_file_of_another_revision_does_not_stop_the_others(npi, folder):
    (folder / "cubes.py").write_text(SCRIPT.replace("Squares", "Cubes"))
    assert npi("reproduce", "cubes", "--folder", folder)[0] == 0
    kept = folder / "results" / "cubes.json"
    kept.write_text(kept.read_text().replace('"revision": 1', '"revision": 9'))
    code, _, err = npi("reproduce", "squares", "--folder", folder)
    assert code == 0
    assert "left out of" in err
    assert "cubes.json was made by another revision" in err
    page = (folder.parent / "docs" / "results.md").read_text()
    assert "## Squares" in page
    assert "## Cubes" not in page


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"runs": [{"what": 1}]}', '{"runs": 3}', "{cut"])
def test_a_file_that_is_no_results_is_refused(npi, folder, text):
    (folder / "results").mkdir()
    (folder / "results" / "squares.json").write_text(text)
    code, _, err = npi("reproduce", "squares", "--folder", folder)
    assert code == 2
    assert "squares.json" in err
    assert (folder / "results" / "squares.json").read_text() == text


def test_a_run_that_cannot_be_reported_is_refused_and_does_not_stop_the_others(npi, folder):
    (folder / "cubes.py").write_text(SCRIPT.replace("Squares", "Cubes"))
    assert npi("reproduce", "all", "--folder", folder)[0] == 0
    kept = folder / "results" / "squares.json"
    kept.write_text(kept.read_text().replace('"square": 4', '"squares": 4'))
    before = kept.read_text()
    code, _, err = npi("reproduce", "squares", "--folder", folder)
    assert code == 2
    assert "squares.json holds runs that cannot be reported (KeyError: 'square')" in err
    code, _, err = npi("reproduce", "cubes", "--folder", folder)
    assert code == 0
    assert "left out of" in err
    assert kept.read_text() == before


def test_without_the_library_for_figures_there_is_still_a_page(npi, folder):
    (folder / "squares.py").write_text(SCRIPT.replace("report)", "report, draw)"))
    code, out, err = npi("reproduce", "squares", "--folder", folder)
    assert (code, out) == (0, f"wrote {folder.parent / 'docs' / 'results.md'}\n")
    assert "no figures were drawn: no_such_library is not installed" in err
    assert "pip install 'npi[experiments]'" in err


def test_every_claim_of_the_paper_has_an_experiment():
    claims = [claim for name in experiment_names(REAL) for claim in find_experiment(REAL, name).claims]
    judged = {claim.name for claim in claims if isinstance(claim, PaperClaim) and claim.verdict is not None}
    assert judged >= {f"C{number}" for number in range(1, 11)}


def test_wrong_words_are_answered(npi, folder, tmp_path):
    assert "did you mean 'squares'?" in npi("reproduce", "square", "--folder", folder)[2]
    assert "there are: squares" in npi("reproduce", "xyz", "--folder", folder)[2]
    assert "did you mean 'squares'?" in npi("reproduce", "all", "squars", "--folder", folder)[2]
    assert "there are squares" in npi("reproduce", "--folder", folder)[2]
    assert "clone of the repository" in npi("reproduce", "all", "--folder", tmp_path / "nowhere")[2]
    assert "--workers is 0" in npi("reproduce", "all", "--workers", "0", "--folder", folder)[2]
    (folder / "broken.py").write_text("import nothing_of_this_name")
    assert "broken.py cannot be used: ModuleNotFoundError" in npi("reproduce", "all", "--folder", folder)[2]
    (folder / "broken.py").write_text("EXPERIMENT = 3")
    assert "not an npi.evaluation.experiment.Experiment" in npi("reproduce", "all", "--folder", folder)[2]


def test_a_disk_that_is_full_loses_nothing(folder, monkeypatch):
    one = find_experiment(folder, "squares")
    results = one.results(folder / "results" / "squares.json")
    wanted = one.runs(False)
    results.add(Run(wanted[0], {"square": 0}, 1.0, {}))
    before = results.path.read_text()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadInput, match=r"squares.json could not be written: No space left on device; .* untouched"):
        results.add(Run(wanted[1], {"square": 1}, 1.0, {}))
    assert results.path.read_text() == before


def test_making_runs_yields_runs_and_failures(folder):
    (folder / "break1").touch()
    one = find_experiment(folder, "squares")
    results = one.results(folder / "results" / "squares.json")
    events = list(make_runs(folder, "squares", results, one.runs(True), 1, "cpu"))
    assert [type(event) for event in events] == [Run, Failure]
    assert results.of(one.runs(True)) == [events[0]]
