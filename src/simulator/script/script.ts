import type { Item } from '../../protocol/index.js';
import { ModelError } from '../../providers/index.js';
import {
  countAnswers,
  digestTranscript,
  isUserMessage,
  placeOf,
  type TranscriptPlace,
} from '../../providers/transcripts/index.js';
import { readText } from '../answer/read-items.js';
import { refuseControl } from '../control.js';
import { KeyCounts } from '../key-counts.js';
import { type Approval, findApproval, findAskingStep, withoutApprovals } from './approvals.js';
import { compileConditions, type Condition, findByMessage } from './conditions.js';
import { listSteps } from './plan-script.js';
import type { NamedScript } from './read-script.js';
import type { ScriptTurn } from './script-file.js';

/** The turns that a request can select, and its position in them. */
interface Track {
  readonly key: string;
  readonly turns: readonly ScriptTurn[];
  /** Number of answers that the transcript already has. */
  readonly answered: number;
}

/** A script with its state: selects the turn for each request. */
export class Script {
  readonly model: string;
  private readonly asked = new KeyCounts();
  private readonly failed = new KeyCounts();
  private readonly conditions: readonly Condition[];
  private readonly positions: ReadonlyMap<ScriptTurn, number>;

  constructor(private readonly file: NamedScript) {
    this.model = file.model;
    this.conditions = compileConditions(file.turns);
    this.positions = new Map(file.turns.map((turn, position) => [turn, position]));
  }

  /** Whether the script serves this model name. */
  serves(model: string): boolean {
    return this.model === '*' || this.model === model;
  }

  /** Whether steps wait for their recorded time. */
  get keepsTime(): boolean {
    return this.file.timing !== 'none';
  }

  /** Whether requests have taken all of its turns, and none is repeated. */
  get isUsedUp(): boolean {
    const { match = 'order', on_exhausted: afterLast = 'repeat_last', turns } = this.file;
    const ends = afterLast === 'error' || afterLast === 'unmatched';
    return ends && match === 'order' && turns.length > 0 && this.asked.count('') >= turns.length;
  }

  /**
   * Selects the turn that answers a transcript; null if none matches it. `position` (from 1) moves the script there for all clients.
   * Throws ModelError 400 if no turn is left, or if the script does not support positions.
   */
  pick(context: readonly Item[], position?: number): ScriptTurn | null {
    if (position !== undefined && this.advance !== 'request') {
      throw refuseControl(`'turn' needs a script with advance: request, unlike '${this.model}'.`);
    }
    if (this.file.match === 'request') return this.pickRecorded(context);
    const track = this.findTrack(context);
    if (track.turns.length === 0) return null;
    if (position !== undefined) this.asked.set(track.key, position - 1);
    const isCounted = this.advance === 'request';
    const next = isCounted ? this.asked.count(track.key) : indexAfter(track.turns, track.answered);
    const resumed = position === undefined ? this.findAsking(track.turns, next, findApproval(context)) : undefined;
    if (resumed !== undefined) return resumed;
    if (isCounted) return this.at(track.turns, this.asked.next(track.key));
    const digest = digestTranscript(context);
    const turn = this.at(track.turns, next + this.failed.count(digest));
    if (turn === null) return null;
    // Only consecutive failures count, so that a repeated transcript gets the same answers again.
    this.failed.set(digest, fails(turn) ? this.failed.count(digest) + 1 : 0);
    return turn;
  }

  /** The ModelError 400 for a request that no turn matches. */
  refuseUnmatched(): ModelError {
    return this.refuse('has no turn for this request');
  }

  /** Finds the recorded transcript, or one that differs only in tool outputs. */
  private pickRecorded(context: readonly Item[]): ScriptTurn | null {
    const place = placeOf(context);
    const find = (isThere: (request: TranscriptPlace) => boolean): readonly ScriptTurn[] =>
      this.file.turns.filter(({ request }) => request !== undefined && isThere(request));
    const same = find(({ conversation }) => conversation === place.conversation);
    if (same.length > 0) return this.at(same, this.asked.next(place.conversation));
    const alike = find(({ user, answers }) => user === place.user && answers === place.answers);
    if (alike.length === 0) return null;
    return this.at(alike, this.asked.next(`${place.user} ${place.answers}`));
  }

  /** The last turn, up to the one that would be next, that asked for an approval: it goes on once it has it. */
  private findAsking(turns: readonly ScriptTurn[], next: number, approval: Approval | null): ScriptTurn | undefined {
    if (approval === null) return undefined;
    const reached = turns.slice(0, next < turns.length ? next + 1 : turns.length);
    return reached.findLast((turn) => findAskingStep([...listSteps(turn)], approval) !== -1);
  }

  /** `advance`, or its default for `match`. */
  private get advance(): 'request' | 'conversation' {
    const { advance, match = 'order' } = this.file;
    if (match === 'request') return 'conversation';
    return advance ?? (match === 'order' ? 'request' : 'conversation');
  }

  private findTrack(context: readonly Item[]): Track {
    const { match, turns } = this.file;
    if (match !== 'last_user_message') return { key: '', turns, answered: countAnswers(withoutApprovals(context)) };
    const last = context.findLastIndex(isUserMessage);
    const message = context[last];
    const text = message === undefined ? '' : readText(message);
    const found = findByMessage(this.conditions, text);
    const answering = found.length > 0 ? found : turns.filter(({ when }) => when === undefined);
    const key = found.map((turn) => this.positions.get(turn)).join();
    return { key, turns: answering, answered: countAnswers(withoutApprovals(context.slice(last + 1))) };
  }

  private at(turns: readonly ScriptTurn[], index: number): ScriptTurn | null {
    const { on_exhausted: afterLast = 'repeat_last' } = this.file;
    const wanted = afterLast === 'loop' ? index % turns.length : index;
    const turn = turns[afterLast === 'repeat_last' ? Math.min(wanted, turns.length - 1) : wanted];
    if (turn !== undefined) return turn;
    if (afterLast === 'unmatched') return null;
    throw this.refuse(`has no turn ${index + 1}`);
  }

  private refuse(reason: string): ModelError {
    return new ModelError('script_exhausted', `The script '${this.model}' ${reason}.`, { status: 400 });
  }
}

/**
 * The index of the turn after a number of answers, from 0, and past the last turn when the script repeats. Turns that fail add no
 * answer to the transcript, so the caller must count failures since the last answer.
 */
function indexAfter(turns: readonly ScriptTurn[], answers: number): number {
  const answering = [...turns.keys()].filter((index) => !fails(turns[index] ?? {}));
  if (answers === 0 || answering.length === 0) return 0;
  const cycles = Math.floor((answers - 1) / answering.length);
  return cycles * turns.length + (answering[(answers - 1) % answering.length] ?? 0) + 1;
}

/** Whether a turn fails, so that it adds no answer to the transcript. */
function fails({ error, cut, steps = [] }: ScriptTurn): boolean {
  if (error !== undefined || cut === true) return true;
  return steps.some(
    (step) => step.error !== undefined || step.cut === true || step.end === true || step.stall === true,
  );
}
