/** The traffic of a coding agent: a long system prompt, some tools, outputs of a few kilobytes. */

/** The name of the model that calls a tool in every turn. */
export const AGENT_MODEL = 'bench-agent';

const SYSTEM_PROMPT =
  'You are a coding agent. You work in the repository of the user, and only there. Read before you write, change as little as the ' +
  'task needs, run the tests that cover what you changed, and say what you did in two sentences. Never print secrets.\n';

const SYSTEM_PROMPT_BYTES = 10_000;

const OUTPUT_LINE =
  'src/harbor/pilot.ts:42:  const berth = await this.berths.reserve(ship, { draught, tide, until });\n';

const OUTPUT_BYTES = 4000;

const TOOLS = ['shell', 'read_file', 'write_file', 'apply_patch', 'search', 'list_files', 'run_tests', 'update_plan'];

/** The tools, JSON. Sent with every turn, because requests do not inherit them. */
export const AGENT_TOOLS = JSON.stringify(
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

/** The first items of a chain, JSON. They include the system prompt, so that the server saves it. */
export const AGENT_QUESTION: readonly string[] = [
  JSON.stringify({ role: 'developer', content: fill(SYSTEM_PROMPT, SYSTEM_PROMPT_BYTES) }),
  JSON.stringify({
    role: 'user',
    content: 'The pilot books a berth twice when the tide turns. Find out why, and repair it.',
  }),
];

/** A tool output item, JSON. */
export function toToolOutput(callId: string): string {
  return JSON.stringify({ type: 'function_call_output', call_id: callId, output: fill(OUTPUT_LINE, OUTPUT_BYTES) });
}

/** The arguments of every call, in deltas. */
export const CALL_ARGUMENTS: readonly string[] = [
  '{"path":"src/harbor",',
  '"arguments":["--context","3",',
  '"berths.reserve"],',
  '"timeout_ms":10000}',
];

function fill(text: string, bytes: number): string {
  return text.repeat(Math.ceil(bytes / text.length)).slice(0, bytes);
}
