"""Certificates: whatever is edited in one, or has changed since, is noticed."""

import copy
import json
from dataclasses import asdict, replace

import pytest
import torch
from samples.json_edits import edits

import npi as package
from npi import BadInput
from npi.network.checkpoint import save_model
from npi.proof import certificate as certificates
from npi.proof.certificate import Certificate, load_certificate, save_certificate


@pytest.fixture(scope="module")
def proof(shared_explorations, shipped):
    result = package.verify("sorting", shipped)
    assert isinstance(result, package.Proof)
    return result


@pytest.fixture
def file(proof, tmp_path):
    save_certificate(proof.certificate, proof.table, tmp_path / "c.json")
    return tmp_path / "c.json"


def rewrite(file, **changes):
    """Edit a certificate, and give it the digest that fits."""
    content = json.loads(file.read_text())
    table = content.pop("proof_table")
    del content["digest"]
    edited = Certificate(**content | changes)
    file.write_text(json.dumps(asdict(edited) | {"digest": edited.digest, "proof_table": table}))


def test_the_command_writes_and_checks_certificates(npi, tmp_path):
    file = tmp_path / "sorting.json"
    code, out, _ = npi("verify", "sorting", "--certificate", file)
    assert code == 0
    assert "proved: it runs as the teacher on problems of every size" in out
    code, out, _ = npi("verify", "sorting", "--check", file)
    assert code == 0
    assert out.splitlines()[-1] == f"{file}: holds"
    assert "exploring" not in out  # what the search found is checked, and not searched for again


def test_a_certificate_of_other_weights_or_files_does_not_hold(npi, file, shipped, tmp_path):
    altered = copy.deepcopy(shipped)
    with torch.no_grad():
        altered.end_head.bias += 1e-4
    save_model(altered, tmp_path / "other")
    code, out, _ = npi("verify", "sorting", "--check", file, "--model", tmp_path / "other")
    assert code == 1
    assert "the weights differ" in out
    files = json.loads(file.read_text())["files"]
    for name in ("npi/tasks/sorting.py", "npi/language/tape.py", "npi/network/model.py", "npi/proof/checker.py"):
        assert name in files
        rewrite(file, files=files | {name: "0" * 64})
        code, out, _ = npi("verify", "sorting", "--check", file, "--json")
        assert (code, json.loads(out)["differences"]) == (1, [f"{name}: changed since the proof"])


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"config": "0"}, "the model's configuration differs"),
        ({"histories": 1}, "histories is 27860, not 1"),
        ({"calls": 1}, "calls is 5022, not 1"),
        ({"margin_needed": 0.0}, "margin_needed is 0.001, not 0.0"),
        ({"assumptions": []}, "assumptions is ["),
        ({"margin": 7.2153 + 0.0009}, "the margin is 7.2"),
        ({"guaranteed": {}}, "the guaranteed margins of the programs differ"),
        ({"program": "0"}, "the proof table differs"),
        ({"rounding": 1e9}, "the largest bound on rounding errors is 3.4"),
    ],
    ids=str,
)
def test_a_certificate_of_another_proof_does_not_hold(proof, changes, difference):
    differences = replace(proof.certificate, **changes).differences(proof.certificate)
    assert len(differences) == 1
    assert differences[0].startswith(difference)


def test_what_a_certificate_says_of_rounding_allows_nothing(proof):
    wide = replace(
        proof.certificate, rounding=1e9, margin=123456.0, guaranteed={**proof.certificate.guaranteed, "RESET": 9e9}
    )
    assert len(wide.differences(proof.certificate)) == 3


def test_margins_may_differ_by_their_rounding_and_versions_at_will(proof):
    made = proof.certificate
    other = replace(made, margin=made.margin + made.rounding, versions={"npi": "7"}, problems=1)
    assert made.differences(other) == []
    assert made.differences(replace(made, margin=float("nan"))) != []


def test_every_edit_of_a_certificate_is_noticed(file):
    content = json.loads(file.read_text())
    table = content.pop("proof_table")
    documents = list(edits(content))
    assert len(documents) > 60  # each hash of a file, and all other fields
    for document in documents:
        file.write_text(json.dumps(document | {"proof_table": table}))
        with pytest.raises(BadInput, match=r"was edited|holds no certificate"):
            load_certificate(file)


@pytest.mark.parametrize(
    "changes",
    [
        {"files": None},
        {"files": ["a"]},
        {"files": {"a": 1}},
        {"guaranteed": None},
        {"guaranteed": {"RESET": "7"}},
        {"rounding": "0"},
        {"rounding": 1e999},
        {"assumptions": {}},
        {"histories": 27860.0},
        {"task": None},
    ],
    ids=str,
)
def test_a_field_of_another_type_is_refused(file, changes):
    content = json.loads(file.read_text())
    file.write_text(json.dumps(content | changes).replace("Infinity", "1e999"))
    with pytest.raises(BadInput, match=f"holds no certificate: {next(iter(changes))} has a value of another type"):
        load_certificate(file)


def test_another_proof_table_is_noticed(proof, file):
    other = copy.deepcopy(dict(proof.table))
    other["summaries"].pop()
    save_certificate(proof.certificate, other, file)
    with pytest.raises(BadInput, match="its proof table is not the one that was proved"):
        load_certificate(file)


def test_a_large_table_is_left_out_and_found_again(npi, proof, file, monkeypatch):
    monkeypatch.setattr(certificates, "MAX_TABLE_BYTES", 100)
    save_certificate(proof.certificate, proof.table, file)
    assert load_certificate(file)[1] is None
    code, out, _ = npi("verify", "sorting", "--check", file, "--json")
    assert (code, json.loads(out)["differences"]) == (0, [])
    rewrite(file, table="0" * 64)
    code, out, _ = npi("verify", "sorting", "--check", file, "--json")
    assert (code, json.loads(out)["differences"]) == (1, ["the proof table differs"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"format": 1', "only a part of one"),
        ("[]", "is not a certificate: it is not a JSON object"),
        ('{"format": 1}', "holds no certificate of this version: its format is 1, not 2"),
        ('{"format": 2, "a": 1}', "holds no certificate: it lacks assumptions, calls"),
        ('{"format": 2, "a": 1}', "it has the unknown fields a"),
        ('{"format": 2, "margin": NaN}', "NaN is no number"),
    ],
)
def test_bad_certificates(npi, tmp_path, content, message):
    file = tmp_path / "c.json"
    file.write_text(content)
    code, _, err = npi("verify", "sorting", "--check", file)
    assert code == 2
    assert message in err
