# make demo   sets up .venv and runs learnt addition and sorting
# make test   sets up .venv with the tools for development and runs every test
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test lint bench clean

demo: $(VENV)/.installed
	$(BIN)/npi demo

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/pyright --pythonpath $(BIN)/python

bench: $(VENV)/.installed
	$(BIN)/npi bench

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
