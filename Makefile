# make demo   set up a virtual environment and fit a deep topic model to the docstrings of
#             the installed numpy and scipy
# make test   set it up and run the tests
# make test-fast  the tests to run while you work: rules, schedules, a sample of networks (2 minutes)
# make check  format, lint and types
# make install-check  build wheel and source archive, run the wheel with the oldest and the newest
#             versions of what it needs, outside this folder
# make docs   run the code of the documentation and build its pages in docs/_build/html
# make long   the statistical tests at full power (hours)
# make evidence  the same tests, with their results in tests/evidence/results.json
# make campaign  kills, failing disks, forged files and wrong arguments (10 minutes)

VENV := .venv
ifeq ($(OS),Windows_NT)
# In a shell that has rm, find and touch, such as that of Git.
PYTHON ?= python
BIN := $(VENV)/Scripts
export PYTHONUTF8 := 1
else
PYTHON ?= python3
BIN := $(VENV)/bin
endif
STAMP := $(VENV)/.installed
# Some containers forbid Python to keep its bytecode: then each of the processes that tests start
# compiles all of pgbn anew, about a second each.
export PYTHONDONTWRITEBYTECODE :=

# Rules, schedules, texts, one joint-distribution test of every network, the reference sampler.
FAST := tests/nodes/rules tests/network/test_schedule.py tests/snapshots tests/evidence \
	tests/testing/test_random_networks.py $(wildcard tests/test_reference.py)

.PHONY: demo test test-fast check install-check docs long evidence campaign clean

demo: $(STAMP)
	$(BIN)/pgbn demo

test: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

test-fast: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 $(FAST)

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

install-check:
	.ci/install $(PYTHON)

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	$(BIN)/python -m sphinx -E -W --keep-going -q -j 2 docs docs/_build/html
	@echo "open docs/_build/html/index.html"

long: $(STAMP)
	$(BIN)/python -m pytest -q -m long

evidence: $(STAMP)
	$(BIN)/python -m tests.evidence

campaign: $(STAMP)
	$(BIN)/python -m tests.campaign

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable ".[dev]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) build dist docs/_build *.egg-info
	find . -name '*.nb[ic]' -delete
