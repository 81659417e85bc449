"""Fixtures for pytest. They need the packages `pytest` and `openai`, and Antiphon in `node_modules`."""

import subprocess
from collections.abc import Iterator

import pytest
from openai import OpenAI


@pytest.fixture(scope="session")
def simulator() -> Iterator[str]:
    """The URL of a simulator that runs as long as the tests do."""
    command = ["node_modules/.bin/antiphon", "simulate"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        assert url, "antiphon simulate has not started"
        yield url
        process.terminate()


class Model:
    """A model with answers and a journal of its own: a space of the simulator."""

    def __init__(self, url: str, space: str) -> None:
        self.client = OpenAI(base_url=url, api_key="test", default_headers={"x-simulator-space": space})
        self._control = url.removesuffix("/v1") + "/simulator"

    def answer(self, *turns: dict) -> None:
        """The next answers: turns of a script (docs/simulator-scripts.md#write-a-script). Requests after them are refused."""
        script = {"model": "*", "turns": turns, "on_exhausted": "unmatched"}
        self.client.post(f"{self._control}/scripts", body=script, cast_to=object)

    @property
    def requests(self) -> list[dict]:
        """What the agent sent, and what each request was answered, oldest first."""
        return self.client.get(f"{self._control}/requests", cast_to=object)["data"]


@pytest.fixture
def model(simulator: str, request: pytest.FixtureRequest) -> Model:
    """A model for one test: tests that run at the same time do not see each other."""
    return Model(simulator, request.node.nodeid)
