/** Items of one agent round, with texts of realistic lengths. */
const ROUND_ITEMS = 5;

/** The body of a request that replays a long history: messages, reasoning, function calls and outputs. */
export function makeRequest(items: number): string {
  const rounds = Array.from({ length: items / ROUND_ITEMS }, (_, index) => makeRound(index));
  return JSON.stringify({
    model: 'bench',
    instructions: 'You are an agent that reads and changes the files of a repository.',
    input: rounds.flat(),
    tools: [TOOL],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: { effort: 'medium', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    store: false,
    stream: true,
    metadata: { conversation: 'bench' },
  });
}

const TOOL = {
  type: 'function',
  name: 'read_file',
  description: 'Reads a file of the repository.',
  parameters: {
    type: 'object',
    properties: { path: { type: 'string' }, lines: { type: 'integer' } },
    required: ['path', 'lines'],
    additionalProperties: false,
  },
  strict: true,
};

function makeRound(index: number): readonly object[] {
  const callId = `call_${index.toString(16).padStart(24, '0')}`;
  return [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: makeText(index, 60) }] },
    {
      type: 'reasoning',
      id: `rs_${index.toString(16).padStart(32, '0')}`,
      summary: [{ type: 'summary_text', text: makeText(index, 40) }],
      encrypted_content: Buffer.from(makeText(index, 120)).toString('base64'),
    },
    {
      type: 'function_call',
      id: `fc_${index.toString(16).padStart(32, '0')}`,
      call_id: callId,
      name: 'read_file',
      arguments: JSON.stringify({ path: `src/part-${index}.ts`, lines: 40 + (index % 60) }),
      status: 'completed',
    },
    { type: 'function_call_output', call_id: callId, output: makeText(index, 160) },
    {
      type: 'message',
      id: `msg_${index.toString(16).padStart(32, '0')}`,
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: makeText(index, 80), annotations: [], logprobs: [] }],
    },
  ];
}

/** Text of about this many characters. */
function makeText(seed: number, characters: number): string {
  const length = characters - 16 + (seed % 32);
  return `Line ${seed} of "harbor.ts":\n\treturn tide(${seed});\n`.repeat(10).slice(0, length);
}
