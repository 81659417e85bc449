// Slow: it installs packages from PyPI once, and Python takes seconds to import some of them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { type Installed, installForPython, installLargeForPython } from '../support/installed-packages.js';
import { call, say } from '../support/scripted-calls.js';

const service = useService({ providers: [ScriptedProvider] });

/** Runs scripts, each a JSON string in a line, among names of its own, and prints the last of what each prints in a line. */
const INTERPRETER = `
import contextlib, io, json, sys, traceback
for line in sys.stdin:
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(json.loads(line), {"__name__": "__main__"})
        answer = {"printed": json.loads(printed.getvalue().strip().split("\\n")[-1])}
    except Exception:
        answer = {"error": traceback.format_exc()}
    print(json.dumps(answer), flush=True)
`;

/** Tests with packages of Python, which one interpreter imports for all of them. Skipped, and said so, where they cannot be installed. */
function describeWith(name: string, installed: Installed, tests: (run: RunPython) => void): void {
  if (!('folder' in installed)) {
    console.warn(`SKIPPED: ${name}, since ${installed.reason}`);
    describe.skip(name, () => tests(() => Promise.reject(new Error(installed.reason))));
    return;
  }
  describe(name, () => {
    let python: ChildProcess;
    let answers: AsyncIterator<string, undefined>;

    beforeAll(() => {
      // LiteLLM would load its list of prices from elsewhere.
      const env = { ...process.env, PYTHONPATH: installed.folder, LITELLM_LOCAL_MODEL_COST_MAP: 'True' };
      const child = spawn('python3', ['-c', INTERPRETER, service.origin], { env, stdio: ['pipe', 'pipe', 'inherit'] });
      python = child;
      answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    });
    afterAll(async () => {
      const ended = once(python, 'exit');
      python.stdin?.end();
      await ended;
    });

    tests(async (script) => {
      python.stdin?.write(`${JSON.stringify(script)}\n`);
      const next: IteratorResult<string, undefined> = await answers.next();
      const { printed, error } = JSON.parse(next.value ?? '{"error":"Python has ended"}') as PythonAnswer;
      if (error !== undefined) throw new Error(error);
      return printed;
    });
  });
}

interface PythonAnswer {
  readonly printed?: unknown;
  readonly error?: string;
}

/** Runs a script with the origin of the service, and gives what it prints last as JSON. */
type RunPython = (script: string) => Promise<unknown>;

/** What the model read last. */
const context = () => service.provider.turns.at(-1)?.context ?? [];

/** A model that looks at the weather, and then says how it is. */
const lookAtWeather = (): void => {
  service.provider.reply(...call('weather', { city: 'Oslo' })).reply(...say('It is ', 'sunny.'));
};

const LOOKED = [
  { role: 'user' },
  { type: 'function_call', name: 'weather', arguments: '{"city":"Oslo"}' },
  { type: 'function_call_output', output: 'Sunny in Oslo.' },
];

describeWith('the official SDKs of Python', await installForPython('anthropic==2.14.0', 'openai==3.57.0'), (run) => {
  const ANTHROPIC = `
import json, sys
import anthropic
from anthropic import Anthropic, beta_tool
from pydantic import BaseModel
client = Anthropic(base_url=sys.argv[1], api_key="unused", max_retries=0)
asked = dict(model="claude-sonnet-4-5", max_tokens=100, messages=[{"role": "user", "content": "How is it in Oslo?"}])
class Stock(BaseModel):
    left: int
`;

  it('the SDK of Anthropic for Python has messages whole, streamed and parsed, their tokens, and errors of their own', async () => {
    service.provider
      .reply(...say('Hel', 'lo.'))
      .reply(...say('Hel', 'lo.'))
      .reply(...say('{"left":3}'));
    const said = await run(`${ANTHROPIC}
whole = client.messages.create(**asked)
with client.messages.stream(**asked) as stream:
    pieces = list(stream.text_stream)
    last = stream.get_final_message()
parsed = client.messages.parse(**asked, output_format=Stock).parsed_output
try:
    client.messages.create(**{**asked, "max_tokens": 0})
except anthropic.BadRequestError as error:
    refused = error.body["error"]["type"]
tokens = client.messages.count_tokens(model="m", messages=asked["messages"]).input_tokens
print(json.dumps([whole.content[0].text, pieces, last.stop_reason, last.usage.output_tokens, parsed.left, refused, tokens > 0]))`);
    expect(said).toEqual(['Hello.', ['Hel', 'lo.'], 'end_turn', 5, 3, 'invalid_request_error', true]);
  });

  it('run tools by the helper of Anthropic', async () => {
    lookAtWeather();
    const said = await run(`${ANTHROPIC}
@beta_tool
def weather(city: str) -> str:
    """Tells the weather.

    Args:
        city: Its name.
    """
    return f"Sunny in {city}."
print(json.dumps(client.beta.messages.tool_runner(**asked, tools=[weather]).until_done().content[0].text))`);
    expect(said).toBe('It is sunny.');
    expect(context()).toMatchObject(LOOKED);
  });

  it('the SDK of OpenAI for Python has completions whole, streamed and parsed, and those that are stored', async () => {
    service.provider
      .reply(...say('Hel', 'lo.'))
      .reply(...say('Hel', 'lo.'))
      .reply(...say('{"left":3}'));
    const said = await run(`
import json, sys
from openai import OpenAI, BadRequestError
from pydantic import BaseModel
client = OpenAI(base_url=sys.argv[1] + "/v1", api_key="unused", max_retries=0)
asked = dict(model="gpt-5", messages=[{"role": "user", "content": "Hi"}])
class Stock(BaseModel):
    left: int
whole = client.chat.completions.create(**asked, store=True)
with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
    pieces = "".join(event.delta for event in stream if event.type == "content.delta")
    last = stream.get_final_completion()
parsed = client.chat.completions.parse(**asked, response_format=Stock).choices[0].message.parsed
try:
    client.chat.completions.create(**asked, n=2)
except BadRequestError as error:
    refused = error.param
listed = [each.id for each in client.chat.completions.list()] == [whole.id]
print(json.dumps([whole.choices[0].message.content, pieces, last.usage.completion_tokens, parsed.left, refused, listed]))`);
    expect(said).toEqual(['Hello.', 'Hello.', 5, 3, 'n', true]);
  });
});

const large = await installLargeForPython('litellm==1.106.6', 'mcp==2.3.0', 'instructor==1.17.0');

describeWith('LiteLLM and Instructor', large, (run) => {
  it.each([
    ['Chat Completions', 'openai/gpt-5', '/v1'],
    ['Messages', 'anthropic/claude-sonnet-4-5', ''],
  ])('run a tool and read a stream through LiteLLM, by %s', async (_, model, path) => {
    lookAtWeather();
    service.provider.reply(...say('Hel', 'lo.'));
    const said = await run(`
import json, sys
import litellm
asked = dict(model="${model}", api_base=sys.argv[1] + "${path}", api_key="unused", max_tokens=100, num_retries=0)
parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"type": "function", "function": {"name": "weather", "description": "Tells the weather.", "parameters": parameters}}]
messages = [{"role": "user", "content": "How is it in Oslo?"}]
message = litellm.completion(**asked, messages=messages, tools=tools).choices[0].message
messages += [message, {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "Sunny in Oslo."}]
answer = litellm.completion(**asked, messages=messages, tools=tools)
stream = litellm.completion(**asked, messages=messages[:1], stream=True)
pieces = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
print(json.dumps([answer.choices[0].message.content, answer.usage.completion_tokens, pieces]))`);
    expect(said).toEqual(['It is sunny.', 5, 'Hello.']);
    expect(service.provider.turns.at(-2)?.context).toMatchObject(LOOKED);
  });

  it.each([
    ['a tool', 'TOOLS', () => call('Stock', { left: 3 })],
    ['a schema', 'JSON_SCHEMA', () => say('{"left":3}')],
  ])('read an object by %s through Instructor', async (_, mode, reply) => {
    service.provider.reply(...reply());
    const said = await run(`
import json, sys
import instructor
from openai import OpenAI
from pydantic import BaseModel
class Stock(BaseModel):
    left: int
client = instructor.from_openai(OpenAI(base_url=sys.argv[1] + "/v1", api_key="unused"), mode=instructor.Mode.${mode})
messages = [{"role": "user", "content": "How many are left?"}]
print(json.dumps(client.chat.completions.create(model="gpt-5", response_model=Stock, messages=messages, max_retries=0).left))`);
    expect(said).toBe(3);
  });
});
