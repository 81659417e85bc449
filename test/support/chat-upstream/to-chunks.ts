import {
  type AnsweredCall,
  type ChatAnswer,
  type ChatAnswers,
  type ChatLogprob,
  finishOf,
  listAnswers,
  listPieces,
  usageOf,
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

/** A `chat.completion.chunk` or `chat.completion`. */
export type ChatObject = Readonly<Record<string, unknown>>;

/** What of the request decides how it is answered. */
export interface Asked {
  readonly model: string;
  readonly includeUsage: boolean;
  /** False: the whole answer is asked for. */
  readonly stream?: boolean | undefined;
}

/** The chunks of a streamed answer, in an upstream's own wording. */
export function toChunks(answers: ChatAnswers, quirks: Quirks, asked: Asked): readonly ChatObject[] {
  const deltas = toDeltas(answers, quirks);
  const opening: Said[] = quirks.roleChunk === false ? [] : [{ delta: { ...ROLE, content: '', ...silence(quirks) } }];
  const spoken = [...opening, ...deltas];
  const withFinish = quirks.finishWithContent === true && spoken.length > 0;
  const says = spoken.map((said, position) =>
    choice(said, quirks, isLast(spoken, position) && withFinish ? finishOf(answers) : null),
  );
  const ends = withFinish ? [] : [choice({ delta: silence(quirks) }, quirks, finishOf(answers))];
  const finishes = quirks.finish === false ? [] : quirks.finishTwice === true ? [...ends, ...ends] : ends;
  const chunks = [...says, ...finishes].map((entry) => ({ choices: [entry] as readonly object[] }));
  const placed = withUsage(chunks, usageOf(answers), quirks, asked, says.length - 1);
  return placed
    .flatMap((chunk) => beside(chunk, quirks))
    .map((chunk) => envelope('chat.completion.chunk', chunk, quirks, asked));
}

/** The same answer as one body, for upstreams that do not stream. */
export function toCompletion(answers: ChatAnswers, quirks: Quirks, asked: Asked): ChatObject {
  const message: Record<string, unknown> = { role: 'assistant', content: null };
  const content: unknown[] = [];
  for (const { delta, logprobs } of toDeltas(answers, { ...quirks, callArguments: quirks.callArguments ?? 'whole' })) {
    content.push(...(logprobs ?? []));
    for (const [member, value] of Object.entries(delta)) message[member] = joined(message[member], value);
  }
  const usage = quirks.usage === 'absent' ? {} : { usage: usageOf(answers) };
  const logprobs = content.length === 0 ? null : { content };
  const choices = [{ index: 0, message, logprobs, finish_reason: quirks.finish === false ? null : finishOf(answers) }];
  return envelope('chat.completion', { choices, ...usage }, quirks, asked);
}

function joined(before: unknown, value: unknown): unknown {
  if (value === null) return before ?? null;
  if (Array.isArray(before)) {
    const parts: readonly unknown[] = Array.isArray(value) ? value : [{ type: 'text', text: value }];
    return [...(before as readonly unknown[]), ...parts];
  }
  return typeof before === 'string' && typeof value === 'string' && before !== 'assistant' ? before + value : value;
}

function envelope(object: string, members: ChatObject, quirks: Quirks, { model }: Asked): ChatObject {
  return { id: 'chatcmpl-1', object, created: 1_767_225_600, model, ...quirks.chunkMembers, ...members };
}

function choice({ delta, logprobs }: Said, quirks: Quirks, finish: string | null): ChatObject {
  const unfinished = { empty: { finish_reason: '' }, absent: {}, null: { finish_reason: null } }[
    quirks.unfinished ?? 'null'
  ];
  return {
    ...(quirks.choiceIndex === 'absent' ? {} : { index: 0 }),
    [quirks.message === true ? 'message' : 'delta']: delta,
    ...(logprobs === undefined ? {} : { logprobs: { content: logprobs } }),
    ...(finish === null || quirks.finish === false ? unfinished : { finish_reason: finish }),
  };
}

function withUsage(
  chunks: readonly ChatObject[],
  usage: object,
  quirks: Quirks,
  asked: Asked,
  lastSaid: number,
): readonly ChatObject[] {
  const place = quirks.usage ?? 'asked';
  const nothing = quirks.nullUsage === true ? { usage: null } : {};
  const own = place === 'own_chunk' || (place === 'asked' && asked.includeUsage) ? [{ choices: [], usage }] : [];
  const positions = { with_content: lastSaid, with_finish: chunks.length - 1 }[place as 'with_finish'];
  const placed = chunks.map((chunk, position) => {
    if (place === 'cumulative') return { ...chunk, usage: grown(usage, (position + 1) / chunks.length) };
    return { ...chunk, ...(position === positions ? { usage } : nothing) };
  });
  return [...placed, ...own];
}

/** What of the usage had come about at a part of the answer: the prompt at once, the rest by and by. */
function grown(usage: object, part: number): object {
  const {
    prompt_tokens: input = 0,
    completion_tokens: output = 0,
    ...rest
  } = usage as Readonly<Record<string, number>>;
  const written = Math.floor(output * part);
  return { ...rest, prompt_tokens: input, completion_tokens: written, total_tokens: input + written };
}

/** The chunk, and what else an upstream sends beside it. */
function beside(chunk: ChatObject, quirks: Quirks): readonly ChatObject[] {
  const second = { index: 1, delta: { content: 'another choice' }, finish_reason: null };
  return [
    ...(quirks.emptyChoices === true ? [{ choices: [] }] : []),
    ...(quirks.noChoices === 'absent' ? [{}] : []),
    ...(quirks.noChoices === 'null' ? [{ choices: null }] : []),
    chunk,
    ...(quirks.secondChoice === true ? [{ choices: [second] }] : []),
  ];
}

function isLast(list: readonly unknown[], position: number): boolean {
  return position === list.length - 1;
}
