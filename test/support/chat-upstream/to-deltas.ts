import {
  type AnsweredCall,
  type ChatAnswer,
  type ChatAnswers,
  type ChatLogprob,
  listAnswers,
  listPieces,
} from './chat-answer.js';
import type { CallQuirks, Quirks } from './quirks.js';

type Entry = Readonly<Record<string, unknown>>;

/** The `tool_calls` members of the deltas that say these calls, one list per chunk. `from` calls were made before. */
function toToolDeltas(calls: readonly AnsweredCall[], quirks: CallQuirks, from: number): readonly Entry[][] {
  const entries = calls.map((call, position) => entriesOf(call, from + position, quirks));
  switch (quirks.callOrder) {
    case 'alternating':
      return rounds(entries).flatMap((round) => round.map((entry) => [entry]));
    case 'together':
      return rounds(entries);
    default:
      return entries.flat().map((entry) => [entry]);
  }
}

/** The pieces of several calls by their position: all first ones, all second ones, and so on. */
function rounds(entries: readonly (readonly Entry[])[]): Entry[][] {
  const length = Math.max(0, ...entries.map((pieces) => pieces.length));
  return Array.from({ length }, (_, round) => entries.flatMap((pieces) => pieces.slice(round, round + 1)));
}

function entriesOf(call: AnsweredCall, position: number, quirks: CallQuirks): Entry[] {
  const functions = functionsOf(call, quirks);
  const id = idOf(call, position, quirks);
  return functions.map((member, piece) => {
    const isFirst = piece === 0;
    const isLast = piece === functions.length - 1;
    const idHere = isWritten(quirks.callIds, isFirst, isLast);
    const typeHere = isWritten(quirks.callTypes, isFirst, isLast);
    return {
      ...(quirks.callIndexes === 'missing' ? {} : { index: quirks.callIndexes === 'zero' ? 0 : position }),
      ...(idHere ? { id } : {}),
      ...(typeHere ? { type: 'function' } : {}),
      function: member,
    };
  });
}

/** Whether something that belongs to a call stands in this chunk of it. */
function isWritten(where: CallQuirks['callIds'], isFirst: boolean, isLast: boolean): boolean {
  if (where === 'missing') return false;
  return where === 'every_chunk' || (where === 'last_chunk' ? isLast : isFirst);
}

function idOf(call: AnsweredCall, position: number, { callIds }: CallQuirks): string | null {
  switch (callIds) {
    case 'same':
      return 'call_same';
    case 'empty':
      return '';
    case 'null':
      return null;
    default:
      return call.id ?? `call_${position + 1}`;
  }
}

/** The `function` members of a call's chunks. */
function functionsOf(call: AnsweredCall, quirks: CallQuirks): Entry[] {
  const pieces = listPieces(call.arguments ?? '{}');
  switch (quirks.callArguments) {
    case 'whole':
      return [{ name: call.name, arguments: pieces.join('') }];
    case 'object':
      return [{ name: call.name, arguments: JSON.parse(pieces.join('')) as unknown }];
    case 'null':
      return [{ name: call.name, arguments: null }];
    case 'missing':
      return [{ name: call.name }];
    default:
      return named(call.name, pieces, quirks);
  }
}

function named(name: string, pieces: readonly string[], { callNames }: CallQuirks): Entry[] {
  const argumentsOnly = pieces.map((piece) => ({ arguments: piece }));
  const middle = Math.ceil(name.length / 2);
  switch (callNames) {
    case 'split':
      return [{ name: name.slice(0, middle), arguments: '' }, { name: name.slice(middle) }, ...argumentsOnly];
    case 'every_chunk':
      return pieces.map((piece) => ({ name, arguments: piece }));
    case 'last_chunk':
      return [...argumentsOnly, { name, arguments: '' }];
    default:
      return [{ name, arguments: '' }, ...argumentsOnly];
  }
}

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
