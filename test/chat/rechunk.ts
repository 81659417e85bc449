import { isObject, objectsIn } from '../../src/validation/index.js';

type Members = Readonly<Record<string, unknown>>;

/** Draws a number from 0 to below a limit. */
export type Draw = (limit: number) => number;

/** Where the whole message stands that some servers send behind its pieces. */
const PLACES = ['nowhere', 'before the finish', 'with the finish', 'behind the finish'] as const;

/** A chunk that says one thing at most. */
interface Piece {
  /** What the chunk has besides its delta. */
  readonly around: Members;
  readonly delta: Members;
}

/** What a whole message has of its pieces, besides calls. */
const MESSAGE_MEMBERS = [
  ...['content', 'reasoning', 'reasoning_content', 'reasoning_details'],
  ...['refusal', 'annotations', 'images'],
];

/** What stands between two events: blank lines, comments, heartbeats, or only the end of a line. */
const GAPS = ['\n\n', '\r\n\r\n', '\n\n: still here\n\n', '\n\ndata: ping\n\n', '\n', '\n: still here\n'];

/**
 * The bytes of a recorded stream, which say the same in other chunks: texts are joined and cut anywhere, also within a character;
 * pieces of calls alternate; the whole message follows its pieces; events and packets end anywhere.
 */
export function rechunk(recorded: string, draw: Draw): readonly Buffer[] {
  const chunks = recorded
    .split(/[\r\n]+/)
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)) as Members);
  const pieces = chunks.flatMap(toPieces);
  const cut = joined(pieces, draw).flatMap((piece) => cutAnywhere(piece, draw));
  const spoken = alternating(cut, draw).map(toChunk);
  const place = PLACES[draw(PLACES.length)] ?? 'nowhere';
  return toPackets(withMessage(spoken, toMessage(pieces, draw(2) === 0), place), draw);
}

/** The things that a chunk says, one by one; the last has what else is in the chunk, such as its finish reason. */
function toPieces(chunk: Members): readonly Piece[] {
  const { usage, choices, ...envelope } = chunk;
  const [choice] = objectsIn(choices);
  const delta = choice?.['delta'];
  if (choice === undefined || !isObject(delta)) return [{ around: chunk, delta: {} }];
  const { tool_calls: calls, role, ...words } = delta;
  const { logprobs, finish_reason: finish, message: _, ...place } = choice;
  const around = { ...envelope, choices: [{ ...place, finish_reason: null }] };
  const entries = objectsIn(calls).map((entry) => ({ around, delta: { role, tool_calls: [entry] } }));
  const ending = {
    ...envelope,
    choices: [{ ...place, finish_reason: finish }],
    ...(usage === undefined ? {} : { usage }),
  };
  const said = { ...around, choices: [{ ...place, finish_reason: null, ...(logprobs == null ? {} : { logprobs }) }] };
  return [{ around: said, delta: { role, ...words } }, ...entries, { around: ending, delta: {} }];
}

function toChunk({ around, delta }: Piece): Members {
  const [choice, ...others] = objectsIn(around['choices']);
  if (choice === undefined) return around;
  return { ...around, choices: [{ ...choice, delta }, ...others] };
}

/** Texts of the content that follow each other, some of them joined. */
function joined(pieces: readonly Piece[], draw: Draw): readonly Piece[] {
  return pieces.reduce<Piece[]>((before, piece) => {
    const last = before.at(-1);
    const [first, second] = [contentOf(last), contentOf(piece)];
    if (last === undefined || first === undefined || second === undefined || draw(2) === 0) return [...before, piece];
    return [...before.slice(0, -1), { ...last, delta: { ...last.delta, content: first + second } }];
  }, []);
}

/** The content of a piece that says nothing else. */
function contentOf(piece: Piece | undefined): string | undefined {
  const choice = objectsIn(piece?.around['choices'])[0] ?? {};
  const { role: _, content, ...others } = piece?.delta ?? {};
  const isAlone = Object.values(others).every((value) => value == null) && !('logprobs' in choice);
  return isAlone && typeof content === 'string' && content !== '' ? content : undefined;
}

/** A piece in up to four. Where a delta says the same text in several members, all of them are cut. */
function cutAnywhere(piece: Piece, draw: Draw): readonly Piece[] {
  const [entry] = objectsIn(piece.delta['tool_calls']);
  const text = entry === undefined ? textIn(piece.delta) : argumentsOf(entry);
  if (text.length < 2 || 'logprobs' in (objectsIn(piece.around['choices'])[0] ?? {})) return [piece];
  const places = Array.from({ length: draw(4) }, () => 1 + draw(text.length - 1)).toSorted((one, other) => one - other);
  const ends = [...new Set(places), text.length];
  return ends.map((end, position) => {
    const part = text.slice(ends[position - 1] ?? 0, end);
    if (entry === undefined) return { ...piece, delta: replaced(piece.delta, text, part) as Members };
    const { name } = entry['function'] as Members;
    const named = position === 0 ? { name } : {};
    return { ...piece, delta: { tool_calls: [{ ...entry, function: { ...named, arguments: part } }] } };
  });
}

/** The text that a delta says, wherever it stands. */
function textIn({ role: _, ...delta }: Members): string {
  const texts = (value: unknown): readonly string[] => {
    if (typeof value === 'string') return value === '' ? [] : [value];
    if (Array.isArray(value)) return value.flatMap(texts);
    return isObject(value) ? [value['text'], value['thinking']].flatMap(texts) : [];
  };
  const { images: __, annotations: ___, citations: ____, ...words } = delta;
  return Object.values(words).flatMap(texts)[0] ?? '';
}

function replaced(value: unknown, text: string, part: string): unknown {
  if (value === text) return part;
  if (Array.isArray(value)) return value.map((each) => replaced(each, text, part));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([member, each]) => [member, replaced(each, text, part)]));
}

/** Calls whose pieces alternate, alone or several in one array. Each is known by its index, or by its id. */
function alternating(pieces: readonly Piece[], draw: Draw): readonly Piece[] {
  const isCall = ({ delta }: Piece): boolean => 'tool_calls' in delta;
  const first = pieces.findIndex(isCall);
  const calls = callsIn(pieces.filter(isCall), draw(2) === 0);
  const mixed: Piece[] = [];
  let begun = 0;
  for (
    let left = calls.filter(({ length }) => length > 0);
    left.length > 0;
    left = left.filter(({ length }) => length > 0)
  ) {
    // A call begins behind the beginning of the one before it.
    const open = left.slice(0, left.findIndex((call) => calls.indexOf(call) === begun) + 1);
    const call = (open.length === 0 ? left : open)[draw(open.length === 0 ? left.length : open.length)];
    if (call === undefined) break;
    if (calls.indexOf(call) === begun) begun += 1;
    mixed.push(...call.splice(0, 1));
  }
  const others = pieces.filter((piece) => !isCall(piece));
  return first === -1 ? pieces : [...others.slice(0, first), ...mixed, ...others.slice(first)];
}

/** The pieces of each call, which say who they are. */
function callsIn(pieces: readonly Piece[], byIndex: boolean): readonly Piece[][] {
  const calls: Piece[][] = [];
  for (const piece of pieces) {
    const [entry = {}] = objectsIn(piece.delta['tool_calls']);
    if (typeof (entry['function'] as Members)['name'] === 'string') calls.push([]);
    calls.at(-1)?.push(piece);
  }
  return calls.map((call, index) => {
    const [{ id } = {}] = objectsIn(call[0]?.delta['tool_calls']);
    return call.map((piece, position) => {
      const [{ index: _, id: __, ...entry } = {}] = objectsIn(piece.delta['tool_calls']);
      const identity = byIndex ? { index, ...(position === 0 ? { id } : {}) } : { id };
      return { ...piece, delta: { ...piece.delta, tool_calls: [{ ...identity, ...entry }] } };
    });
  });
}

function argumentsOf(entry: Members): string {
  const { arguments: json } = entry['function'] as Members;
  return typeof json === 'string' ? json : '';
}

/** The whole message that the pieces say, its calls with their ids or without. */
function toMessage(pieces: readonly Piece[], hasIds: boolean): Members {
  const deltas = pieces.map(({ delta }) => delta);
  const spoken = MESSAGE_MEMBERS.flatMap((member): readonly (readonly [string, unknown])[] => {
    const values = deltas.map((delta) => delta[member]).filter((value) => value != null && value !== '');
    if (values.length === 0) return [];
    if (values.every((value) => typeof value === 'string')) return [[member, values.join('')]];
    return [
      [member, values.flatMap((value) => (Array.isArray(value) ? objectsIn(value) : [{ type: 'text', text: value }]))],
    ];
  });
  const parts = pieces.filter(({ delta }) => 'tool_calls' in delta);
  const calls = callsIn(parts, true).map((call) => {
    const entries = call.flatMap(({ delta }) => objectsIn(delta['tool_calls']));
    const [{ id, ...first } = {}] = entries;
    const { name } = first['function'] as Members;
    return { ...first, ...(hasIds ? { id } : {}), function: { name, arguments: entries.map(argumentsOf).join('') } };
  });
  return { role: 'assistant', ...Object.fromEntries(spoken), ...(calls.length === 0 ? {} : { tool_calls: calls }) };
}

/** The chunks, with the whole message at a place. */
function withMessage(chunks: readonly Members[], message: Members, place: (typeof PLACES)[number]): readonly Members[] {
  const choiceOf = (chunk: Members | undefined): Members => objectsIn(chunk?.['choices'])[0] ?? {};
  const at = chunks.findIndex((chunk) => choiceOf(chunk)['finish_reason'] != null);
  const ending = chunks[at];
  if (ending === undefined || place === 'nowhere') return chunks;
  const choice = choiceOf(ending);
  if (place === 'with the finish') {
    return chunks.with(at, { ...ending, choices: [{ ...choice, message }] });
  }
  const { usage: _, ...envelope } = ending;
  const whole = { ...envelope, choices: [{ index: 0, message, finish_reason: choice['finish_reason'] }] };
  return chunks.toSpliced(place === 'before the finish' ? at : at + 1, 0, whole);
}

function toPackets(chunks: readonly Members[], draw: Draw): readonly Buffer[] {
  const gap = GAPS[draw(GAPS.length)] ?? '\n\n';
  const data = [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'];
  const bytes = Buffer.from(`${data.map((each) => `data: ${each}`).join(gap)}\n\n`);
  const ends = Array.from({ length: draw(20) }, () => draw(bytes.length)).toSorted((one, other) => one - other);
  return [...ends, bytes.length].map((end, position) => bytes.subarray(ends[position - 1] ?? 0, end));
}
