import { ModelError } from '../../src/index.js';
import { CALL_TURNS } from './parity-call-turns.js';
import { message, outputText, type ParityTurn, usage } from './parity-turn.js';
import { PASSED_ITEMS } from './passed-items.js';

const logprob = { token: 'Hi', logprob: -0.25, bytes: [72, 105], top_logprobs: [] };
const citation = {
  type: 'url_citation',
  start_index: 0,
  end_index: 4,
  url: 'https://example.com',
  title: 'A page',
} as const;
const unicode = '🎼 “Ἀντίφωνα” – \u2028\u0000\t"\\\n  ŗ̷'.repeat(400);
/** Turns of text, reasoning and settings. */
const TEXT_TURNS: readonly ParityTurn[] = [
  {
    name: 'plain text',
    model: [{ type: 'text', delta: 'Hello ' }, { type: 'text', delta: '' }, { type: 'text', delta: 'there.' }, usage],
    expected: {
      status: 'completed',
      output: [message(outputText('Hello there.'))],
      usage: {
        input_tokens: 11,
        input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
        output_tokens: 7,
        output_tokens_details: { reasoning_tokens: 3 },
        total_tokens: 18,
      },
    },
  },
  {
    name: 'long text beyond ASCII, cut inside characters',
    model: [...Array.from(unicode.match(/[^]{1,7}/g) ?? [], (delta) => ({ type: 'text', delta }) as const), usage],
    expected: { status: 'completed', output: [message(outputText(unicode))] },
  },
  {
    name: 'reasoning with a summary in two parts, raw text and its encrypted form, then text',
    model: [
      { type: 'reasoning_summary', delta: 'First ' },
      { type: 'reasoning_summary', delta: 'thought', part: 0 },
      { type: 'reasoning_summary', delta: 'Second', part: 1 },
      { type: 'reasoning', delta: 'raw' },
      { type: 'reasoning_encrypted', content: 'gAAAA' },
      { type: 'text', delta: 'Done.' },
      usage,
    ],
    expected: {
      output: [
        {
          type: 'reasoning',
          summary: [
            { type: 'summary_text', text: 'First thought' },
            { type: 'summary_text', text: 'Second' },
          ],
          content: [{ type: 'reasoning_text', text: 'raw' }],
          encrypted_content: 'gAAAA',
        },
        message(outputText('Done.')),
      ],
    },
    events: ['response.reasoning_summary_part.done', 'response.reasoning_text.delta'],
  },
  {
    name: 'a refusal after some text',
    model: [
      { type: 'text', delta: 'Well.' },
      { type: 'refusal', delta: 'I cannot ' },
      { type: 'refusal', delta: 'help.' },
    ],
    expected: { output: [message(outputText('Well.'), { type: 'refusal', refusal: 'I cannot help.' })] },
    events: ['response.refusal.delta', 'response.refusal.done'],
  },
  {
    name: 'annotations',
    model: [
      { type: 'text', delta: 'See ' },
      { type: 'annotation', annotation: citation },
      { type: 'text', delta: 'it.' },
    ],
    expected: { output: [message(outputText('See it.', { annotations: [citation] }))] },
    events: ['response.output_text.annotation.added'],
  },
  {
    name: 'logprobs',
    body: { include: ['message.output_text.logprobs'], top_logprobs: 2 },
    model: [
      { type: 'text', delta: 'Hi', logprobs: [logprob] },
      { type: 'text', delta: '!' },
    ],
    expected: { top_logprobs: 2, output: [message(outputText('Hi!', { logprobs: [logprob] }))] },
  },
  {
    name: 'an answer cut at max_output_tokens',
    body: { max_output_tokens: 16 },
    model: [{ type: 'text', delta: 'Once upon' }, usage, { type: 'finish', reason: 'length' }],
    expected: {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      completed_at: null,
      max_output_tokens: 16,
      output: [{ status: 'incomplete' }],
    },
    events: ['response.incomplete'],
  },
  {
    name: 'an answer stopped by a content filter',
    model: [{ type: 'text', delta: 'Once' }, usage, { type: 'finish', reason: 'content_filter' }],
    expected: { status: 'incomplete', incomplete_details: { reason: 'content_filter' } },
    events: ['response.incomplete'],
  },
  {
    name: 'a failure in the middle',
    async *model() {
      yield [{ type: 'text', delta: 'I was about to' }, usage];
      throw new ModelError('rate_limit_exceeded', 'The model is busy.', { status: 429 });
    },
    expected: {
      status: 'failed',
      error: { code: 'rate_limit_exceeded', message: 'The model is busy.' },
      output: [{ status: 'incomplete', content: [outputText('I was about to')] }],
    },
    events: ['response.failed'],
  },
  {
    name: 'usage that the provider does not report and we count',
    model: [{ type: 'text', delta: 'One two three.' }],
    expected: { status: 'completed' },
  },
  {
    name: 'an empty answer',
    model: [usage],
    expected: { status: 'completed', output: [] },
  },
  {
    name: 'settings that are echoed',
    body: {
      instructions: 'Be brief, in JSON.',
      tools: [
        { type: 'function', name: 'look' },
        { type: 'custom', name: 'patch' },
      ],
      tool_choice: { type: 'function', name: 'look' },
      metadata: { team: 'blue' },
      temperature: 0.5,
      top_p: 0.25,
      parallel_tool_calls: false,
      max_tool_calls: 3,
      truncation: 'auto',
      prompt_cache_key: 'cache',
      safety_identifier: 'somebody',
      service_tier: 'fast',
      text: { format: { type: 'json_object' }, verbosity: 'low' },
      reasoning: { effort: 'low', summary: 'auto' },
    },
    model: [{ type: 'text', delta: '{}' }, usage],
    expected: {
      instructions: 'Be brief, in JSON.',
      tools: [
        { type: 'function', name: 'look', description: null, parameters: null, strict: false, output_schema: null },
        { type: 'custom', name: 'patch' },
      ],
      tool_choice: { type: 'function', name: 'look' },
      metadata: { team: 'blue' },
      temperature: 0.5,
      top_p: 0.25,
      parallel_tool_calls: false,
      max_tool_calls: 3,
      truncation: 'auto',
      prompt_cache_key: 'cache',
      safety_identifier: 'somebody',
      service_tier: 'priority',
      text: { format: { type: 'json_object' }, verbosity: 'low' },
      reasoning: { context: 'all_turns', effort: 'low', mode: 'standard', summary: 'auto' },
    },
  },
];

/** The turns of the parity table. */
export const PARITY_TURNS: readonly ParityTurn[] = [
  ...TEXT_TURNS,
  ...CALL_TURNS,
  ...PASSED_ITEMS.map(({ name, events, output, status = 'completed' }) => ({
    name: `from an upstream, ${name}`,
    model: events,
    expected: { status, output },
  })),
];
