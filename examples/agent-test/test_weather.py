"""An agent under test: the test decides what its model says, and sees what the agent sent."""

import openai
import pytest
from conftest import Model

TOOL = {
    "type": "function",
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}


def ask(client: openai.OpenAI, question: str) -> str:
    """The agent: answers with the help of its tool."""
    response = client.responses.create(model="gpt-5", input=question, tools=[TOOL])
    while calls := [item for item in response.output if item.type == "function_call"]:
        sunny = {"type": "function_call_output", "output": "sunny"}
        outputs = [{**sunny, "call_id": call.call_id} for call in calls]
        response = client.responses.create(
            model="gpt-5", input=outputs, tools=[TOOL], previous_response_id=response.id
        )
    return response.output_text


def test_it_retries_and_calls_its_tool(model: Model) -> None:
    model.answer(
        {"error": {"kind": "rate_limit", "retry_after": 0}},
        {"calls": [{"name": "get_weather", "arguments": {"city": "Lisbon"}}]},
        {"text": "It is sunny in Lisbon."},
    )
    assert ask(model.client, "How is the weather in Lisbon?") == "It is sunny in Lisbon."
    assert [request["status"] for request in model.requests] == ["refused", "completed", "completed"]
    assert model.requests[-1]["request"]["input"][0]["output"] == "sunny"


def test_it_is_refused_what_nothing_answers(model: Model) -> None:
    model.answer({"text": "It is sunny in Lisbon."})
    ask(model.client, "How is the weather in Lisbon?")
    with pytest.raises(openai.BadRequestError, match="no turn for this request"):
        ask(model.client, "How is the weather in Oslo?")
