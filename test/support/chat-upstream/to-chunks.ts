import { type ChatAnswers, finishOf, usageOf } from './chat-answer.js';
import type { Quirks } from './quirks.js';
import { ROLE, type Said, silence, toDeltas } from './to-deltas.js';

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
