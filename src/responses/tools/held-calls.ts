import type { ModelEvent } from '../../providers/index.js';
import type { PassesLeft } from '../turn/pass-policy.js';

/** Functions that stand for tools of the service. */
export interface Functions<Fn> {
  /** The function of a name; undefined for one that is not of the service. */
  find(name: string): Fn | undefined;
}

/** A call as its model writes it. */
interface WrittenCall<Fn> {
  readonly fn: Fn;
  arguments: string;
}

/** A call that was kept back. */
export interface HeldCall<Fn> {
  readonly fn: Fn;
  /** JSON text, or what the model has written for it. */
  readonly given: string;
}

/** The events that open an item, or go on with one, without a key. */
const OPENING: ReadonlySet<ModelEvent['type']> = new Set<ModelEvent['type']>([
  'text',
  'refusal',
  'reasoning',
  'reasoning_summary',
  'reasoning_open',
  'function_call',
  'custom_tool_call',
]);

const ANSWERS: ReadonlySet<ModelEvent['type']> = new Set<ModelEvent['type']>([
  'text',
  'refusal',
  'function_call',
  'custom_tool_call',
]);

/** Why no call of a pass will be run: the reason of a response that ends with such calls alone. */
export type NoCalls = 'max_tool_calls' | 'max_passes';

/** Why the functions are not offered in a pass; null when they are. */
export function noCallsIn({ isLast, toolCallsLeft }: PassesLeft): NoCalls | null {
  if (toolCallsLeft <= 0) return 'max_tool_calls';
  return isLast ? 'max_passes' : null;
}

/** Keeps back the calls of functions that stand for tools, out of the events of one pass. */
export class HeldCalls<Fn> {
  private readonly calls: WrittenCall<Fn>[] = [];
  /** The calls that the model has not ended, by their keys. */
  private readonly open = new Map<string | undefined, WrittenCall<Fn>>();

  /** Whether the pass has output beside the calls that are kept back. */
  private hasOther = false;

  /** `noCalls`: why none of them will be run; null when they will. */
  constructor(
    private readonly functions: Functions<Fn>,
    private readonly noCalls: NoCalls | null = null,
  ) {}

  /**
   * The event, unless it belongs to a call that is kept back. A model may call what it was not offered: where nothing else comes of a pass,
   * its end says why.
   */
  look(event: ModelEvent): ModelEvent | undefined {
    const isUnanswered = event.type === 'finish' && event.reason === 'stop' && this.calls.length > 0 && !this.hasOther;
    if (isUnanswered && this.noCalls !== null) return { ...event, reason: 'length', incompleteReason: this.noCalls };
    const kept = this.keepBack(event);
    if (kept === event) this.hasOther ||= isOutput(event);
    return kept;
  }

  private keepBack(event: ModelEvent): ModelEvent | undefined {
    const started = this.start(event);
    if (started !== undefined) {
      this.calls.push(started);
      this.open.set(keyOf(event), started);
      // What the model has written before without a key has come to its end.
      return keyOf(event) === undefined ? { type: 'end' } : undefined;
    }
    const key = keyOf(event);
    const call = this.open.get(key);
    if (call === undefined) return event;
    switch (event.type) {
      case 'function_call_arguments':
        call.arguments += event.delta;
        return undefined;
      case 'item.event':
        return undefined;
      case 'item.close':
        call.arguments = textOf(event.item['arguments'], call.arguments);
        this.open.delete(key);
        return undefined;
      case 'end':
        this.open.delete(key);
        return undefined;
      default:
        // Another item begins, or what belongs to none.
        if (key === undefined && OPENING.has(event.type)) this.open.delete(key);
        return event;
    }
  }

  /** The first calls, at most so many. The others are left out, and all are taken. */
  take(most: number): readonly HeldCall<Fn>[] {
    return this.calls
      .splice(0)
      .slice(0, most)
      .map(({ fn, arguments: given }) => ({ fn, given }));
  }

  /** The call that an event begins; undefined for every other event. */
  private start(event: ModelEvent): WrittenCall<Fn> | undefined {
    if (event.type === 'function_call') return this.toWritten(event.name, '');
    if (event.type !== 'item.open' || event.item.type !== 'function_call') return undefined;
    return this.toWritten(textOf(event.item['name'], ''), textOf(event.item['arguments'], ''));
  }

  private toWritten(name: string, given: string): WrittenCall<Fn> | undefined {
    const fn = this.functions.find(name);
    return fn === undefined ? undefined : { fn, arguments: given };
  }
}

/** Whether an event begins what a client can read or answer. */
function isOutput(event: ModelEvent): boolean {
  if (event.type === 'item.open') return event.item.type !== 'reasoning';
  return ANSWERS.has(event.type);
}

function keyOf(event: ModelEvent): string | undefined {
  return (event as { readonly key?: string }).key;
}

/** A text, or what stands for one. */
export function textOf(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}
