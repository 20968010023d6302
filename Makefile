# make demo       sets up .venv and runs learned addition and sorting
# make test       the fast tests: run them while you work
# make test-all   every test, as CI does
# make lint       ruff and pyright
# make docs       builds the site in site/; a warning is an error
# make quick      a few small runs of every experiment
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

LOCK = requirements-ci.lock
INSTALL = $(BIN)/pip install --quiet --constraint $(LOCK)
# one worker for each core; neighbouring tests, which share what they trained and explored, stay together as far as possible
PARALLEL = --numprocesses auto --dist worksteal
CERTIFICATES = src/npi/network/pretrained/default

.PHONY: demo test test-all lint docs bench mutation verify certificates quick dist lock clean

demo: $(VENV)/.installed
	$(BIN)/npi demo

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow"

test-all: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(PARALLEL)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/pyright --pythonpath $(BIN)/python

docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/.installed
	$(BIN)/npi bench

# change the trusted code in many small ways: do the tests notice? Two hours of two cores; can be interrupted and resumed
mutation: $(VENV)/.installed-dev
	$(BIN)/python tests/mutation.py

# prove the shipped model again and compare with its certificates
verify: $(VENV)/.installed
	$(BIN)/npi verify addition --check $(CERTIFICATES)/addition.certificate.json
	$(BIN)/npi verify sorting --check $(CERTIFICATES)/sorting.certificate.json

# prove the shipped model again and write new certificates
certificates: $(VENV)/.installed
	$(BIN)/npi verify addition --certificate $(CERTIFICATES)/addition.certificate.json
	$(BIN)/npi verify sorting --certificate $(CERTIFICATES)/sorting.certificate.json

quick: $(VENV)/.installed-dev
	$(BIN)/npi reproduce all --quick --fresh --workers 2

# build wheel and sdist, install the wheel in a fresh environment and run its demo from another folder
dist: $(VENV)/.installed-dev
	rm -rf dist $(VENV)/wheel
	$(BIN)/python -m build
	$(PYTHON) -m venv $(VENV)/wheel
	$(VENV)/wheel/bin/pip install --quiet --constraint $(LOCK) dist/*.whl
	demo=$$(realpath $(VENV)/wheel/bin/npi) && cd / && $$demo demo

# pin the versions that a fresh environment gets today; torch without the build (+cpu, +cu...) of this machine
lock:
	rm -rf $(VENV)/lock
	$(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/pip install --quiet '.[dev]'
	{ echo '# Tested versions: pip install -c $(LOCK) -e ".[dev]". Written by make lock.'; \
	  $(VENV)/lock/bin/pip freeze --exclude npi | sed -E 's/^torch==([0-9]+\.[0-9]+)\..*/torch==\1.*/'; } > $(LOCK)

$(VENV)/.installed: pyproject.toml $(LOCK)
	@echo "setting up $(VENV): fetching PyTorch takes some minutes the first time"
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(INSTALL) --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) dist site
