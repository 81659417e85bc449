import { isObject } from '../../../validation/index.js';
import type { ModelEvent } from '../../model-event.js';
import { serverError } from '../../upstream-errors/to-model-error.js';
import { type OpaqueCall, readCallMembers } from '../opaque/opaque-members.js';
import type { ToolTable } from '../tools/tool-table.js';
import { textOrEmpty, valueText } from './content-parts.js';
import { GrowingCall } from './growing-call.js';

/** Longest call id that requests accept, in characters (protocol §2). */
const LONGEST_CALL_ID = 64;

/** Characters of all calls of an answer, which are buffered. Each piece is charged PIECE_CHARACTERS on top of its length. */
const MOST_CHARACTERS = 32 * 1024 * 1024;
const PIECE_CHARACTERS = 64;

const MOST_CALLS = 1024;

/** An entry of `tool_calls`; missing texts are empty. */
interface CallPiece {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly json: string;
  /** What the upstream demands back with it. */
  readonly opaque: OpaqueCall | undefined;
}

/** Where a piece stands, if several are in one array. */
interface PlaceInArray {
  /** The calls of the entries before it. */
  readonly met: ReadonlySet<GrowingCall>;
  /** The call at this position in the array before. */
  readonly beside: GrowingCall | undefined;
}

/** The call of a piece, and the events that can be emitted now. */
interface AddedPiece {
  readonly call: GrowingCall;
  readonly events: readonly ModelEvent[];
}

/** How the calls of an answer ended. */
export interface ClosedCalls {
  readonly events: readonly ModelEvent[];
  /** Whether the arguments of all are complete. */
  readonly areWhole: boolean;
}

/** Assigns pieces of `tool_calls` to calls. Upstreams may omit or repeat indexes and ids, or start indexes at any number. */
export class CallCollector {
  private readonly calls: GrowingCall[] = [];
  private readonly byIndex = new Map<number, GrowingCall>();
  /** The calls of the last array with several entries, in its order. */
  private together: GrowingCall[] = [];
  private characters = 0;
  /** Number of calls, from the first on, whose events are emitted as they arrive. */
  private shown = 0;

  /** `usedCallIds` are those of the transcript so far; `newCallId` replaces ids that are missing, too long or already used. `isRaw`: arguments of functions need not be JSON. */
  constructor(
    private readonly tools: ToolTable,
    private readonly usedCallIds: Set<string>,
    private readonly newCallId: () => string,
    private readonly isRaw = false,
  ) {}

  get isEmpty(): boolean {
    return this.calls.length === 0;
  }

  /** Whether there is a call with a name. */
  get hasUsable(): boolean {
    return this.calls.some(({ hasName }) => hasName);
  }

  /** Whether there is one with arguments and without a name. */
  get hasNameless(): boolean {
    return this.calls.some(({ hasName, hasArguments }) => !hasName && hasArguments);
  }

  /** Characters of all pieces; it grows with each. */
  get size(): number {
    return this.characters;
  }

  /** What the upstream demands back with the calls that were opened, by their ids. */
  get opaque(): ReadonlyMap<string, OpaqueCall> {
    return new Map(
      this.calls.flatMap(({ callId, opaque }) =>
        callId === undefined || opaque === undefined ? [] : [[callId, opaque] as const],
      ),
    );
  }

  /** Reads the entries of `tool_calls` of a delta. Throws ModelError if the calls of the answer exceed the limits. */
  add(entries: readonly Readonly<Record<string, unknown>>[]): readonly ModelEvent[] {
    const [only] = entries;
    if (entries.length === 1 && only !== undefined) return this.addPiece(this.readPiece(only)).events;
    // Entries of one array are different calls, in the same order in each.
    const met = new Set<GrowingCall>();
    const earlier = this.together;
    this.together = [];
    return entries.flatMap((entry, position) => {
      const { call, events } = this.addPiece(this.readPiece(entry), { met, beside: earlier[position] });
      met.add(call);
      this.together.push(call);
      return events;
    });
  }

  /** Reads the entries of `tool_calls` of a whole message: calls that were made in deltas are made once. Throws as `add`. */
  complete(entries: readonly Readonly<Record<string, unknown>>[]): readonly ModelEvent[] {
    const before = this.calls.length;
    return entries.flatMap((entry, position) => {
      const piece = this.readPiece(entry);
      const made = this.made(piece) ?? (position < before ? this.calls[position] : undefined);
      return made?.isPartOf(piece.name, piece.json) === true ? this.addRest(made, piece) : this.addPiece(piece).events;
    });
  }

  /** Ends all calls. Calls whose arguments are malformed stay incomplete; so does the last one if `isCut`. */
  close(isCut: boolean): ClosedCalls {
    for (const call of this.calls) call.settle();
    const malformed = new Set(this.calls.filter((call) => !call.isComplete));
    const cut = isCut ? this.calls.at(-1) : undefined;
    const events = this.calls.flatMap((call) => [...call.held, ...call.close(!malformed.has(call) && call !== cut)]);
    return { events, areWhole: malformed.size === 0 };
  }

  private readPiece(entry: Readonly<Record<string, unknown>>): CallPiece {
    const { id, name, json } = wordsOf(entry);
    const piece = {
      index: toIndex(entry.index),
      id,
      name,
      json,
      opaque: readCallMembers(entry),
    };
    this.charge(PIECE_CHARACTERS + piece.id.length + piece.name.length + piece.json.length);
    return piece;
  }

  private addPiece(piece: CallPiece, place?: PlaceInArray): AddedPiece {
    const { index, id, name, json } = piece;
    // An upstream may send a call again, whole, after its pieces.
    const made = name === '' || json === '' ? undefined : this.made(piece);
    if (made?.isPartOf(name, json) === true) return { call: made, events: this.addRest(made, piece) };
    const call = this.find(piece, place) ?? this.begin(index, id);
    if (call.upstreamId === '') call.upstreamId = id;
    call.keep(piece.opaque);
    call.held.push(...call.addName(name), ...call.addArguments(json));
    return { call, events: this.show(call) };
  }

  /** Adds what the whole arguments of a call have beyond its pieces. */
  private addRest(call: GrowingCall, { json, opaque }: CallPiece): readonly ModelEvent[] {
    call.keep(opaque);
    call.held.push(...call.complete(json));
    return this.show(call);
  }

  /** The call that has the id of a piece. */
  private made({ id }: CallPiece): GrowingCall | undefined {
    return id === '' ? undefined : this.calls.findLast(({ upstreamId }) => upstreamId === id);
  }

  /** The call that a piece continues; undefined if it begins one. */
  private find(piece: CallPiece, place?: PlaceInArray): GrowingCall | undefined {
    const { index, id, name, json } = piece;
    const isIdentified = index !== undefined || id !== '';
    const last = isIdentified || place?.beside === undefined || name !== '' ? this.calls.at(-1) : place.beside;
    const call = index === undefined ? last : (this.byIndex.get(index) ?? this.continuedBy(piece));
    if (call === undefined) return undefined;
    const isSame = id === '' || call.upstreamId === '' || id === call.upstreamId;
    const known = isSame ? call : this.made(piece);
    // Some upstreams give each piece a new id, some give every call the same index. A new id begins a new call only with a name,
    // behind complete arguments, or behind a call that still awaits its name: the first of several pieces has that.
    // To know whether arguments are whole takes reading all of them, and is seldom needed.
    const isEnded = (): boolean => !call.hasName || (json !== '' && (call.isWhole || call.isPlaceholder));
    const meant = known ?? (name !== '' || isEnded() ? undefined : call);
    if (meant === undefined) return undefined;
    if (place?.met.has(meant) === true) {
      const isContinued = id === '' ? name === '' : id === meant.upstreamId && !meant.isWhole;
      if (!isContinued) return undefined;
    }
    return meant.isFollowedBy(name, json, id) ? undefined : meant;
  }

  /** The call that a piece with an index of its own and nothing but arguments continues: some upstreams count their pieces there. */
  private continuedBy({ id, name, json }: CallPiece): GrowingCall | undefined {
    const last = this.calls.at(-1);
    const isRest = id === '' && name === '' && json !== '' && last?.hasName === true;
    return isRest && !last.isPlaceholder && !last.isWhole && last.goesOnWith(json) ? last : undefined;
  }

  private charge(characters: number): void {
    this.characters += characters;
    if (this.characters > MOST_CHARACTERS || this.calls.length > MOST_CALLS) {
      throw serverError('The model exceeded the limit of tool calls.', undefined);
    }
  }

  /** The events that can be emitted now: calls open in the order in which the model began them. */
  private show(call: GrowingCall): readonly ModelEvent[] {
    if (call.position < this.shown) return call.held.splice(0);
    const events: ModelEvent[] = [];
    for (let next = this.calls[this.shown]; next?.hasPlace === true; next = this.calls[this.shown]) {
      events.push(...next.held.splice(0));
      this.shown += 1;
    }
    return events;
  }

  private begin(index: number | undefined, id: string): GrowingCall {
    const call = new GrowingCall(
      this.calls.length,
      id,
      this.tools,
      (upstreamId) => this.toCallId(upstreamId),
      this.isRaw,
    );
    this.calls.push(call);
    if (index !== undefined) this.byIndex.set(index, call);
    return call;
  }

  /** The upstream's id, or a new one if it is missing, too long or already used. */
  private toCallId(id: string): string {
    const isUsable = id !== '' && id.length <= LONGEST_CALL_ID && !this.usedCallIds.has(id);
    const callId = isUsable ? id : this.newCallId();
    this.usedCallIds.add(callId);
    return callId;
  }
}

/** An index as a number; some upstreams write it as text. */
function toIndex(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : undefined;
}

/** What an entry says of its call. Some upstreams write the members of its function into the entry, or call them as other APIs do. */
function wordsOf(entry: Readonly<Record<string, unknown>>): Pick<CallPiece, 'id' | 'name' | 'json'> {
  const { id, function: func, custom } = entry;
  const called = [func, custom].find(isObject) ?? entry;
  const { name, arguments: json = called.parameters ?? called.input } = called;
  return {
    id: typeof id === 'number' ? String(id) : textOrEmpty(id),
    name: textOrEmpty(name),
    json: valueText(json),
  };
}
