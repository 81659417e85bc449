import { type ChatAnswer, type ChatAnswers, type ChatLogprob, listAnswers, listPieces } from './chat-answer.js';
import type { Quirks } from './quirks.js';
import { toToolDeltas } from './to-tool-deltas.js';

/** What one chunk says: the delta of its choice, and the logprobs beside it. */
export interface Said {
  readonly delta: Readonly<Record<string, unknown>>;
  readonly logprobs?: readonly ChatLogprob[];
}

/** The deltas that say the answers, in an upstream's own wording. */
export function toDeltas(answers: ChatAnswers, quirks: Quirks): readonly Said[] {
  let calls = 0;
  const said = listAnswers(answers).flatMap((answer) => {
    const deltas = [...reasoningOf(answer, quirks), ...textOf(answer, quirks), ...callsOf(answer, quirks, calls)];
    calls += answer.toolCalls?.length ?? 0;
    return deltas;
  });
  return said.map(({ delta, ...rest }, position) => ({
    ...rest,
    delta: {
      ...silence(quirks),
      ...(quirks.roleEverywhere === true || (quirks.roleChunk === false && position === 0) ? ROLE : {}),
      ...delta,
    },
  }));
}

/** What the first chunk says where it says only who speaks. */
export const ROLE = { role: 'assistant' };

/** The members of a delta that says nothing. */
export function silence({ silentContent, nullMembers }: Quirks): Readonly<Record<string, unknown>> {
  const others = nullMembers === true ? { refusal: null, reasoning_content: null, tool_calls: null } : {};
  if (silentContent === 'null') return { ...others, content: null };
  return silentContent === 'empty' ? { ...others, content: '' } : others;
}

function reasoningOf({ reasoning }: ChatAnswer, quirks: Quirks): Said[] {
  const pieces = listPieces(reasoning);
  switch (quirks.reasoning) {
    case 'reasoning':
      return pieces.map((piece) => ({ delta: { reasoning: piece } }));
    case 'both':
      return pieces.map((piece) => ({ delta: { reasoning: piece, reasoning_content: piece } }));
    case 'reasoning_details':
      return pieces.map((piece) => ({
        delta: { reasoning_details: [{ type: 'reasoning.text', text: piece, format: 'unknown', index: 0 }] },
      }));
    case 'thinking_parts':
      return pieces.map((piece) => ({
        delta: { content: [{ type: 'thinking', thinking: [{ type: 'text', text: piece }] }] },
      }));
    case 'think_tags':
      return pieces.length === 0 ? [] : ['<think>', ...pieces, '</think>'].map((content) => ({ delta: { content } }));
    default:
      return pieces.map((piece) => ({ delta: { reasoning_content: piece } }));
  }
}

function textOf({ text, refusal, logprobs }: ChatAnswer, { contentParts }: Quirks): Said[] {
  const texts = listPieces(text).map((piece, position) => ({
    delta: { content: contentParts === true ? [{ type: 'text', text: piece }] : piece },
    ...(logprobs?.[position] === undefined ? {} : { logprobs: logprobs[position] }),
  }));
  return [...texts, ...listPieces(refusal).map((piece) => ({ delta: { refusal: piece } }))];
}

function callsOf({ toolCalls = [] }: ChatAnswer, quirks: Quirks, from: number): Said[] {
  const lists = toToolDeltas(toolCalls, quirks, from);
  if (quirks.oldFunctionCall === true) {
    return lists.flat().map((entry) => ({ delta: { function_call: entry['function'] } }));
  }
  return lists.map((list) => ({ delta: { tool_calls: list } }));
}
