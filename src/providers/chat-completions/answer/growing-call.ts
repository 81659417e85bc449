import type { ModelEvent } from '../../model-event.js';
import { parseJson } from '../parse-json.js';
import { type CallWriter, type ToolTable, writeCall } from '../tools/index.js';

/** A call while its pieces come in. It opens once its name is sure, and gives what came before that then. */
export class GrowingCall {
  /** What may not be shown yet, because an earlier call is not. */
  readonly held: ModelEvent[] = [];
  private name = '';
  private json = '';
  private lastPiece = '';
  private writer: CallWriter | null = null;

  constructor(
    /** Which of the answer's calls it is, from 0. */
    readonly position: number,
    /** The id that the upstream calls it by; empty while there is none. */
    public upstreamId: string,
    private readonly tools: ToolTable,
    private readonly toCallId: (upstreamId: string) => string,
  ) {}

  /** Whether it has its place among the calls of the answer: what follows may be shown. */
  get hasPlace(): boolean {
    return this.writer?.isStreamed === true;
  }

  /** Whether a name, and the arguments that come with it, belong to another call: this one is named, and whole. */
  isFollowedBy(name: string, json: string): boolean {
    // As long as nothing was shown nothing is sure: more of the name may come.
    if (name === '' || this.writer === null || this.json === '') return false;
    return name !== this.name || (json !== '' && this.isWhole);
  }

  /** Whether its arguments are complete. */
  get isWhole(): boolean {
    // Looking at the end of a text that grows would copy it each time.
    return this.lastPiece.trimEnd().endsWith('}') && parseJson(this.json) !== undefined;
  }

  /** Takes a piece of the name: the next letters of it, or the whole again. */
  addName(piece: string): readonly ModelEvent[] {
    if (piece === '' || this.writer !== null) return [];
    this.name = this.isRepeated(piece) ? this.name : this.name + piece;
    const isSure = this.tools.called(this.name) !== undefined && !this.tools.isBeginning(this.name);
    return isSure ? this.open() : [];
  }

  addArguments(piece: string): readonly ModelEvent[] {
    if (piece === '') return [];
    this.json += piece;
    this.lastPiece = piece;
    if (this.writer !== null) return this.writer.append(piece);
    // Arguments that follow a name end it.
    return this.name === '' ? [] : this.open();
  }

  /** Nothing more comes. A call that never had a name is none. */
  close(isWhole: boolean): readonly ModelEvent[] {
    const opening = this.writer === null && this.name !== '' ? this.open() : [];
    return [...opening, ...(this.writer?.close(isWhole) ?? [])];
  }

  private isRepeated(piece: string): boolean {
    return piece === this.name && !this.isKnown(this.name + piece);
  }

  private isKnown(name: string): boolean {
    return this.tools.called(name) !== undefined || this.tools.isBeginning(name);
  }

  private open(): readonly ModelEvent[] {
    const address = this.tools.called(this.name)?.address ?? { kind: 'function', name: this.name };
    this.writer = writeCall({ key: `call ${this.position}`, address, callId: this.toCallId(this.upstreamId) });
    return [...this.writer.open(), ...(this.json === '' ? [] : this.writer.append(this.json))];
  }
}
