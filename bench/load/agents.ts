import { Agent } from 'node:http';
import { text } from 'node:stream/consumers';

import { AGENT_MODEL } from '../traffic.ts';
import { send } from './http.ts';
import { COMPLETED, Connection } from './sockets.ts';

/** Concurrent agents, each of which answers calls in sequence. */
interface AgentJob {
  /** The server's `…/v1/responses` over HTTP. */
  readonly url: string;
  /** New items over a socket, or the full history over HTTP. */
  readonly transport: 'socket' | 'http';
  readonly agents: number;
  /** Turns per agent. */
  readonly turns: number;
}

/** The turns of all agents, and what one of them sent, without protocol overhead, and saw. */
interface AgentOutcome {
  readonly turns: number;
  readonly sentBytes: number;
  /** Of its last request. */
  readonly lastSentBytes: number;
  /** Context items of the last turn. */
  readonly lastItems: number;
}

/** The members of a response that are read. */
interface AgentResponse {
  readonly id: string;
  readonly output: readonly { readonly call_id?: string }[];
  readonly usage: { readonly input_tokens: number };
}

const TOOLS = ['shell', 'read_file', 'write_file', 'apply_patch', 'search', 'list_files', 'run_tests', 'update_plan'];

/** The tools, JSON. Sent with every turn, because requests do not inherit them. */
const AGENT_TOOLS = JSON.stringify(
  TOOLS.map((name) => ({
    type: 'function',
    name,
    description: `Does what its name says in the repository, and gives what it wrote: ${name}. Fails outside of it.`,
    parameters: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'Relative to the root of the repository.' },
        arguments: { type: 'array', items: { type: 'string' }, description: 'In the order of the command line.' },
        timeout_ms: { type: 'integer', description: 'How long it may take.' },
      },
      required: ['path', 'arguments', 'timeout_ms'],
      additionalProperties: false,
    },
    strict: true,
  })),
);

const SYSTEM_PROMPT =
  'You are a coding agent. You work in the repository of the user, and only there. Read before you write, change as little as the ' +
  'task needs, run the tests that cover what you changed, and say what you did in two sentences. Never print secrets.\n';

const OUTPUT_LINE =
  'src/harbor/pilot.ts:42:  const berth = await this.berths.reserve(ship, { draught, tide, until });\n';

/** The first items of a chain, JSON. They include a long system prompt, so that the server saves it. */
const QUESTION: readonly string[] = [
  { role: 'developer', content: fill(SYSTEM_PROMPT, 10_000) },
  { role: 'user', content: 'The pilot books a berth twice when the tide turns. Find out why, and repair it.' },
].map((item) => JSON.stringify(item));

function fill(piece: string, bytes: number): string {
  return piece.repeat(Math.ceil(bytes / piece.length)).slice(0, bytes);
}

/** Runs agents that answer calls until each has made its turns. Rejects if an answer is not exactly one call. */
export async function runAgents(job: AgentJob): Promise<AgentOutcome> {
  const [work] = await Promise.all(Array.from({ length: job.agents }, () => runAgent(job)));
  if (work === undefined) throw new Error('there are no agents');
  return { ...work, turns: job.agents * job.turns };
}

async function runAgent({ url, transport, turns }: AgentJob): Promise<AgentOutcome> {
  const isWhole = transport === 'http';
  await using socket = isWhole ? undefined : await Connection.open(url.replace('http', 'ws'));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const last = isWhole ? '"stream":true,"stream_options":{"include_obfuscation":false}' : '"type":"response.create"';
  let items = QUESTION;
  let members = '';
  let work: AgentOutcome = { turns: 0, sentBytes: 0, lastSentBytes: 0, lastItems: 0 };
  for (let turn = 0; turn < turns; turn++) {
    const request = `{"model":"${AGENT_MODEL}","tools":${AGENT_TOOLS},${members}"input":[${items.join()}],"store":false,${last}}`;
    const answer = await (socket?.ask(request) ?? askOverHttp(url, request, agent));
    const { response } = JSON.parse(answer) as { readonly response: AgentResponse };
    const [call] = response.output;
    if (call?.call_id === undefined) throw new Error(`a turn ended without a call: ${answer}`);
    const output = fill(OUTPUT_LINE, 4000);
    const toolOutput = JSON.stringify({ type: 'function_call_output', call_id: call.call_id, output });
    items = isWhole ? [...items, JSON.stringify(call), toolOutput] : [toolOutput];
    members = isWhole ? '' : `"previous_response_id":"${response.id}",`;
    const lastSentBytes = Buffer.byteLength(request);
    const sentBytes = work.sentBytes + lastSentBytes;
    work = { turns: turn + 1, sentBytes, lastSentBytes, lastItems: response.usage.input_tokens };
  }
  agent.destroy();
  return work;
}

/** Resolves with the event that completes the response, JSON. */
async function askOverHttp(url: string, request: string, agent: Agent): Promise<string> {
  const frames = await text(await send(url, request, agent));
  const start = frames.lastIndexOf(COMPLETED);
  if (start === -1) throw new Error(`the answer was: ${frames}`);
  return frames.slice(start, frames.indexOf('\n', start));
}
