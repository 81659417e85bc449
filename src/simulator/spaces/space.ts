import { inspect } from 'node:util';

import { objectSchema } from '../../config/index.js';
import { ModelError, type Turn } from '../../providers/index.js';
import { isUserMessage } from '../../providers/transcripts/index.js';
import { readText } from '../answer/read-items.js';
import { FAULT_KINDS, type FaultKind } from '../names.js';
import type { FaultSettings } from '../faults.js';
import type { NamedScript } from '../script/read-script.js';
import { Script } from '../script/script.js';
import { KeyCounts } from '../key-counts.js';
import { Journal, type JournalBudget } from './journal.js';

/** A script of a space, and what a program says about it. */
export interface SpaceScript {
  readonly file: NamedScript;
  /** Which turns it answers besides those of its model. Such a script comes before those without, the newest first. */
  readonly accepts?: (turn: Turn) => boolean;
  /** What it is called in errors, such as `on(/weather/) at agent.test.ts:12:7`. */
  readonly label?: string;
}

/** A fault of the next turns of a space. */
export interface SpaceFault extends FaultSettings {
  readonly kind: FaultKind;
  /** How many turns it hits. */
  readonly turns: number;
}

/** The JSON Schema of a SpaceFault whose numbers, besides `turns`, have these names. */
export function faultSchema(...numbers: readonly string[]): object {
  const whole = { type: 'integer', minimum: 0, maximum: 1e9 };
  const properties = Object.fromEntries(numbers.map((name) => [name, whole]));
  return objectSchema(
    { kind: { enum: FAULT_KINDS }, turns: { ...whole, minimum: 1 }, ...properties },
    { required: ['kind'] },
  );
}

/** A script with its position. */
type PlayedScript = SpaceScript & { readonly script: Script };

/** Characters of a message in an error. */
const LONGEST_QUOTE = 200;

/** What tests that share a simulator have each for themselves: scripts with their positions, counts, faults and a journal. */
export class Space {
  readonly journal: Journal;
  /** How often it has seen a request, and counts of generators. */
  asked = new KeyCounts();
  private played: readonly PlayedScript[] = [];
  private queued: { readonly fault: SpaceFault; left: number }[] = [];

  /** `initial` are its scripts at the start, and after a reset. Calls `scripted` when it gets one. `budget` bounds its journal. */
  constructor(
    private readonly initial: readonly SpaceScript[],
    private readonly scripted: () => void,
    budget: JournalBudget,
  ) {
    this.journal = new Journal(budget);
    this.reset();
    if (initial.length > 0) scripted();
  }

  /** Everything is as it was at the start. */
  reset(): void {
    this.asked = new KeyCounts();
    this.played = this.initial.map(toPlayed);
    this.queued = [];
    this.journal.clear();
  }

  get scripts(): readonly SpaceScript[] {
    return this.played;
  }

  /** Adds a script at its beginning. One without `accepts` takes the place of the one of its model. */
  add(added: SpaceScript): void {
    const isReplaced = (one: SpaceScript): boolean => one.accepts === undefined && one.file.model === added.file.model;
    const kept = added.accepts === undefined ? this.played.filter((one) => !isReplaced(one)) : this.played;
    this.played = [toPlayed(added), ...kept];
    this.scripted();
  }

  /** Removes the script of a model. False if there is none. */
  remove(model: string): boolean {
    const before = this.played.length;
    this.played = this.played.filter(({ accepts, file }) => accepts !== undefined || file.model !== model);
    return this.played.length < before;
  }

  /** Puts a fault behind those that wait. */
  addFault(fault: SpaceFault): void {
    if (fault.turns > 0) this.queued.push({ fault, left: fault.turns });
  }

  /** The faults that wait, with the turns that are left of each. */
  get faults(): readonly SpaceFault[] {
    return this.queued.map(({ fault, left }) => ({ ...fault, turns: left }));
  }

  /** Removes the faults of a kind; without one, all of them. */
  clearFaults(kind?: FaultKind): void {
    this.queued = kind === undefined ? [] : this.queued.filter(({ fault }) => fault.kind !== kind);
  }

  /** The fault of the next turn. */
  takeFault(): SpaceFault | undefined {
    const [next] = this.queued;
    if (next === undefined) return undefined;
    next.left -= 1;
    if (next.left === 0) this.queued.shift();
    return next.fault;
  }

  /** Whether a script has this model name. */
  serves(model: string): boolean {
    return this.played.some(({ script }) => script.serves(model));
  }

  /**
   * The script that answers a turn: the newest that accepts it, the one of its model, or one for every name. Throws ModelError 400 when a
   * matcher fails.
   */
  scriptFor(turn: Turn): Script | undefined {
    const { model } = turn.settings;
    const served = this.played.filter(({ script }) => script.serves(model));
    const accepting = served.find((one) => accepts(one, turn));
    const others = served.filter((one) => one.accepts === undefined);
    return (accepting ?? others.find(({ file }) => file.model === model) ?? others[0])?.script;
  }

  /** The ModelError 400 for a turn that nothing answers. It says what would have been answered. */
  refuse(script: Script, turn: Turn): ModelError {
    const known = this.played.filter(({ label }) => label !== undefined);
    if (known.length === 0) return script.refuseUnmatched();
    const answers = known.map(
      ({ label, script: one }) => `\n- ${label}${one.isUsedUp ? ', all of which are used' : ''}`,
    );
    const message = `Nothing answers this request: ${describe(turn)}. There are:${answers.join('')}`;
    return new ModelError('script_exhausted', message, { status: 400 });
  }
}

/**
 * Throws ModelError 400 with what the matcher of a test has thrown, or for one that says neither true nor false, such as an asynchronous
 * one: clients do not send that request again.
 */
function accepts({ accepts: matcher, label }: SpaceScript, turn: Turn): boolean {
  if (matcher === undefined) return false;
  try {
    const answer: unknown = matcher(turn);
    if (typeof answer === 'boolean') return answer;
    throw new TypeError(`expected true or false, but got ${inspect(answer, { depth: 0, breakLength: Infinity })}`);
  } catch (cause) {
    const message = `The matcher of ${label ?? 'a script'} has failed: ${String(cause)}`;
    throw new ModelError('invalid_matcher', message, { status: 400, cause });
  }
}

function toPlayed(script: SpaceScript): PlayedScript {
  return { ...script, script: new Script(script.file) };
}

/** The text of the last user message of a turn; empty without one. */
export function lastUserText({ context }: Turn): string {
  const message = context.findLast(isUserMessage);
  return message === undefined ? '' : readText(message);
}

/** The names of the functions and custom tools that a turn offers. */
export function toolNames({ settings }: Turn): readonly string[] {
  return settings.tools.flatMap((tool) => ('name' in tool && typeof tool.name === 'string' ? [tool.name] : []));
}

function describe(turn: Turn): string {
  const text = lastUserText(turn);
  const quoted = JSON.stringify(text.length <= LONGEST_QUOTE ? text : `${text.slice(0, LONGEST_QUOTE)}…`);
  const last = turn.context.at(-1);
  const end = last === undefined || isUserMessage(last) ? '' : `, last item ${last.type}`;
  const tools = toolNames(turn);
  const offered = tools.length === 0 ? 'no tools' : `tools ${tools.join(', ')}`;
  return `model '${turn.settings.model}', last user message ${quoted}${end}, ${offered}`;
}
