import type { ModelEvent } from '../../model-event.js';
import { isObject, parseJson } from '../../../validation/index.js';
import { joinCallMembers, type OpaqueCall } from '../opaque/opaque-members.js';
import { type CallWriter, hasNoArguments, writeCall } from '../tools/call-writer.js';
import type { ToolTable } from '../tools/tool-table.js';

/** What other arguments may replace, and its beginnings: blanks, an empty object, `null`. */
const PLACEHOLDER = /^\s*(?:\{\s*\}?|n(?:u(?:ll?)?)?)?\s*$/;

/** A call whose pieces are still arriving. It opens once its name is certain, with everything received so far. */
export class GrowingCall {
  /** Events that wait for an earlier call to open. */
  readonly held: ModelEvent[] = [];
  /** What the upstream demands back with it. */
  opaque: OpaqueCall | undefined;
  /** The id that clients know; undefined before it has opened. */
  callId: string | undefined;
  private name = '';
  private json = '';
  private readonly progress = new JsonProgress();
  /** Whether the arguments have ended and are no JSON, which they cannot become any more. */
  private isBroken = false;
  /** Whether nothing but a placeholder has come so far. */
  private awaitsArguments = true;
  private placeholder = '';
  /** Whether the arguments are a JSON text within a JSON string, as some parsers of calls make them; it can be read once it is whole. */
  private isEncoded = false;
  private writer: CallWriter | null = null;

  constructor(
    /** Position among the calls of the answer, from 0. */
    readonly position: number,
    /** Id given by the upstream; empty until one arrives. */
    public upstreamId: string,
    private readonly tools: ToolTable,
    private readonly toCallId: (upstreamId: string) => string,
    /** Whether arguments of functions are passed on whatever they are. */
    private readonly isRaw: boolean,
  ) {}

  /** Whether the call streams its events, so that the next call can open. */
  get hasPlace(): boolean {
    return this.writer?.isStreamed === true;
  }

  get hasName(): boolean {
    return this.name !== '';
  }

  get hasArguments(): boolean {
    return this.json !== '' || !hasNoArguments(this.placeholder);
  }

  /** Whether a piece may be the next one of the arguments: no object begins where JSON has no place for a value. */
  goesOnWith(piece: string): boolean {
    return !/^\s*\{/.test(piece) || this.progress.takesValue;
  }

  /** Adds what the upstream demands back with a piece. */
  keep(opaque: OpaqueCall | undefined): void {
    if (opaque !== undefined) this.opaque = joinCallMembers(this.opaque, opaque);
  }

  /** Whether a piece with this name, arguments and id begins another call. */
  isFollowedBy(name: string, json: string, id: string): boolean {
    // Until the call has opened, the piece may continue its name.
    if (name === '' || this.writer === null) return false;
    if (name !== this.name) return true;
    const isReplaced = this.isPlaceholder && id !== '' && id === this.upstreamId;
    return !isReplaced && json !== '' && (this.isPlaceholder || this.isWhole);
  }

  /** Whether the pieces so far are those of a call with this name and these whole arguments. */
  isPartOf(name: string, json: string): boolean {
    if (name !== this.name) return false;
    const { length } = this.json;
    // Comparing a growing string, or parsing it, for each piece would take quadratic time.
    if (json.length >= length && json.startsWith(this.json))
      return json.length === length || parseJson(json) !== undefined;
    const whole = parseJson(json);
    if (whole === undefined || !this.progress.hasEnded) return false;
    const made = parseJson(this.json);
    return made !== undefined && JSON.stringify(made) === JSON.stringify(whole);
  }

  /** Adds what whole arguments, of which the pieces so far are a part, have beyond them. */
  complete(json: string): readonly ModelEvent[] {
    return json.startsWith(this.json) ? this.addArguments(json.slice(this.json.length)) : [];
  }

  /** Whether its arguments are complete; an empty object that others may replace is not. */
  get isWhole(): boolean {
    if (this.isBroken || !this.progress.hasEnded || this.progress.last !== (this.isEncoded ? '"' : '}')) return false;
    this.isBroken = parseJson(this.json) === undefined;
    return !this.isBroken;
  }

  /** Adds a piece of the name: its next letters, or the whole name repeated. */
  addName(piece: string): readonly ModelEvent[] {
    if (piece === '' || this.writer !== null) return [];
    this.name = this.isRepeated(piece) ? this.name : this.name + piece;
    const isSure = this.tools.called(this.name) !== undefined && !this.tools.isBeginning(this.name);
    return isSure ? this.open() : [];
  }

  addArguments(piece: string): readonly ModelEvent[] {
    if (piece === '') return [];
    return this.awaitsArguments ? this.beginArguments(piece) : this.appendArguments(piece);
  }

  /** Holds back a placeholder until other arguments replace it, or the call ends. */
  private beginArguments(piece: string): readonly ModelEvent[] {
    const begun = this.isReplacedBy(piece) ? piece : this.placeholder + piece;
    this.placeholder = PLACEHOLDER.test(begun) ? begun : '';
    // Arguments end the name, also those that are held back.
    if (this.placeholder !== '') return this.writer === null && this.name !== '' ? this.open() : [];
    this.awaitsArguments = false;
    this.isEncoded = !this.isRaw && /^\s*"/.test(begun);
    return this.appendArguments(begun);
  }

  /** Whether its arguments are a whole placeholder so far. */
  get isPlaceholder(): boolean {
    return this.awaitsArguments && /(?:\}|null)\s*$/.test(this.placeholder);
  }

  /** Whether a piece replaces the placeholder. Behind `null` only an object does: an input that is not JSON may begin so. */
  private isReplacedBy(piece: string): boolean {
    if (!this.isPlaceholder) return false;
    return this.placeholder.trimEnd().endsWith('}') ? piece.trim() !== '' : /^\s*(?:\{|null\s*$)/.test(piece);
  }

  private appendArguments(piece: string): readonly ModelEvent[] {
    this.json += piece;
    this.progress.add(piece);
    if (this.writer !== null) return this.isEncoded ? [] : this.writer.append(piece);
    // Arguments end the name.
    return this.name === '' ? [] : this.open();
  }

  /** Opens the call if its name was not certain before. A call without a name stays closed. */
  settle(): void {
    if (this.writer === null && this.name !== '') this.held.push(...this.open());
    if (this.isEncoded) this.decode();
    if (hasNoArguments(this.placeholder)) return;
    this.awaitsArguments = false;
    this.held.push(...this.appendArguments(this.placeholder));
  }

  private decode(): void {
    const text = parseJson(this.json);
    if (typeof text === 'string' && isObject(parseJson(text))) this.json = text;
    this.isEncoded = false;
    if (this.writer !== null) this.held.push(...this.writer.append(this.json));
  }

  /** Whether its arguments were neither cut nor are anything but JSON. A call without a name has none. */
  get isComplete(): boolean {
    return this.writer?.isWhole(this.json) !== false;
  }

  /** Ends the call. */
  close(isWhole: boolean): readonly ModelEvent[] {
    return this.writer?.close(isWhole) ?? [];
  }

  private isRepeated(piece: string): boolean {
    return piece === this.name && !this.isKnown(this.name + piece);
  }

  private isKnown(name: string): boolean {
    return this.tools.called(name) !== undefined || this.tools.isBeginning(name);
  }

  private open(): readonly ModelEvent[] {
    const address = this.tools.called(this.name)?.address ?? { kind: 'function', name: this.name };
    const callId = this.toCallId(this.upstreamId);
    this.callId = callId;
    this.writer = writeCall({ key: `call ${this.position}`, address, callId, isRaw: this.isRaw });
    return [...this.writer.open(), ...(this.json === '' || this.isEncoded ? [] : this.writer.append(this.json))];
  }
}

/** Where a growing JSON text stands. It is read only when asked, and each character once. */
class JsonProgress {
  private unread = '';
  private depth = 0;
  private isInString = false;
  private isEscaped = false;
  private lastRead = '';

  add(piece: string): void {
    this.unread += piece;
  }

  /** The last character that is no blank. */
  get last(): string {
    this.readOn();
    return this.lastRead;
  }

  /** Whether what follows may be a value, or text of a string. */
  get takesValue(): boolean {
    const { last } = this;
    return this.isInString || last === '' || last === ':' || last === ',' || last === '[';
  }

  /** Whether an object, a list or a string has ended that stands in no other. */
  get hasEnded(): boolean {
    const { last } = this;
    return this.depth === 0 && !this.isInString && (last === '}' || last === ']' || last === '"');
  }

  private readOn(): void {
    const { unread } = this;
    this.unread = '';
    for (const character of unread) this.readCharacter(character);
  }

  private readCharacter(character: string): void {
    if (this.isEscaped) this.isEscaped = false;
    else if (character === '"') this.isInString = !this.isInString;
    else if (this.isInString) this.isEscaped = character === '\\';
    else if (character === '{' || character === '[') this.depth += 1;
    else if (character === '}' || character === ']') this.depth -= 1;
    if (character.trim() !== '') this.lastRead = character;
  }
}
