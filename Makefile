# make demo   sets up .venv and runs learnt addition and sorting
# make test   sets up .venv with the tools for development and runs every test
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

CERTIFICATES = src/npi/network/pretrained/default

.PHONY: demo test lint bench verify certificates quick clean

demo: $(VENV)/.installed
	$(BIN)/npi demo

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/pyright --pythonpath $(BIN)/python

bench: $(VENV)/.installed
	$(BIN)/npi bench

# prove the model inside the package again, and compare with its certificates; or write them anew
verify: $(VENV)/.installed
	$(BIN)/npi verify addition --check $(CERTIFICATES)/addition.certificate.json
	$(BIN)/npi verify sorting --check $(CERTIFICATES)/sorting.certificate.json

certificates: $(VENV)/.installed
	$(BIN)/npi verify addition --certificate $(CERTIFICATES)/addition.certificate.json
	$(BIN)/npi verify sorting --certificate $(CERTIFICATES)/sorting.certificate.json

# a few small runs of every experiment
quick: $(VENV)/.installed-dev
	$(BIN)/npi reproduce all --quick --fresh --workers 2

$(VENV)/.installed: pyproject.toml
	@echo "setting up $(VENV): fetching PyTorch takes some minutes the first time"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV)
