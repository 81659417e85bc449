import { ApiError, callIdOf, isCompaction, isCompactionTrigger, type Item } from '../protocol/index.js';
import type { OpenedSeal } from './seals/index.js';
import { addMarks, type Marks, NO_MARKS } from './marks.js';

/** The calls that a client must answer, and what answers them (protocol §3.1): only of these are pairs demanded. */
const OUTPUT_OF_CALL: Readonly<Record<string, string>> = {
  function_call: 'function_call_output',
  custom_tool_call: 'custom_tool_call_output',
  computer_call: 'computer_call_output',
  shell_call: 'shell_call_output',
  apply_patch_call: 'apply_patch_call_output',
};
const CALL_TYPES = new Set(Object.keys(OUTPUT_OF_CALL));
const OUTPUT_TYPES = new Set(Object.values(OUTPUT_OF_CALL));

const NO_CALLS: ReadonlyMap<string, string> = new Map();
const NO_ASYNC_CALLS: ReadonlyMap<string, number> = new Map();

/** Items shared by all transcripts that were extended from the same root; each uses only its own length. */
interface Backing {
  readonly items: Item[];
  readonly ids: Set<string>;
  readonly callIds: Set<string | undefined>;
  readonly opened: OpenedItems;
}

/** What stands in an item with a seal, or why it cannot be opened. */
export type OpenedItem = readonly Item[] | Exclude<OpenedSeal, object>;

/** What stands in items with a seal: each is opened once. */
export type OpenedItems = Map<Item, OpenedItem>;

/**
 * The context of a model, as an immutable value. Extending it returns a new one and costs only the new items: the
 * longest transcript uses the shared backing, and only a fork copies. Enforces the rules of protocol §3.1: no duplicate
 * items, every output has its call, and no call is unanswered when the client continues, unless it is asynchronous.
 */
export class Transcript {
  private constructor(
    private readonly backing: Backing,
    private readonly length: number,
    /** Call ids without an output yet, with the type of the call. */
    private readonly openCalls: ReadonlyMap<string, string>,
    /** Call ids of outputs whose call is missing, with the type of the output: their items were not checked together. */
    private readonly strayOutputs: ReadonlyMap<string, string>,
    /** Call ids of asynchronous calls, with the number of outputs that are still to come. No turn waits for them. */
    private readonly asyncCalls: ReadonlyMap<string, number>,
    /** The items of the transcript that a model does not see as they are. */
    readonly marks: Marks,
  ) {}

  /** A transcript of items that are already checked, such as a stored chain. */
  static of(items: readonly Item[]): Transcript {
    const backing: Backing = { items: [], ids: new Set(), callIds: new Set(), opened: new Map() };
    return new Transcript(backing, 0, NO_CALLS, NO_CALLS, NO_ASYNC_CALLS, NO_MARKS).append(items);
  }

  /** All items, oldest first. */
  get items(): readonly Item[] {
    return this.itemsFrom(0);
  }

  /** The number of its items. */
  get size(): number {
    return this.length;
  }

  /** The items from a position on. */
  itemsFrom(position: number): readonly Item[] {
    return this.backing.items.slice(position, this.length);
  }

  /** The item at a position. */
  at(position: number): Item | undefined {
    return position < this.length ? this.backing.items[position] : undefined;
  }

  /** What stands in its sealed items, as far as they were opened. */
  get opened(): OpenedItems {
    return this.backing.opened;
  }

  /** Whether an item has this id; may be true for one of a longer transcript with the same beginning. */
  has(id: string): boolean {
    return this.backing.ids.has(id);
  }

  /** Whether a call has no output yet. */
  get hasOpenCalls(): boolean {
    return this.openCalls.size > 0;
  }

  /** The same transcript with its own backing, so that neither retains items of the other. */
  fork(): Transcript {
    const items = this.backing.items.slice(0, this.length);
    const ids = new Set(items.map(({ id }) => id));
    const backing = {
      items,
      ids,
      callIds: new Set(items.filter(isPairedCall).map(callIdOf)),
      opened: this.openedAmong(items),
    };
    return new Transcript(backing, this.length, this.openCalls, this.strayOutputs, this.asyncCalls, this.marks);
  }

  /** Calls and outputs that it remembers, in lists of its own: not those of another transcript. */
  ownCalls(other?: Transcript): number {
    const { openCalls, strayOutputs, asyncCalls } = this;
    return (
      (openCalls === other?.openCalls ? 0 : openCalls.size) +
      (strayOutputs === other?.strayOutputs ? 0 : strayOutputs.size) +
      (asyncCalls === other?.asyncCalls ? 0 : asyncCalls.size)
    );
  }

  /** Whether both are beginnings of one list in memory. */
  sharesItemsWith(other: Transcript): boolean {
    return this.backing === other.backing;
  }

  /** The items added since an earlier state of this transcript. */
  itemsAfter(earlier: Transcript): readonly Item[] {
    return this.itemsFrom(earlier.length);
  }

  /**
   * Adds the input of a client. Throws ApiError 400 for a duplicate item, an output without its call, a second output of
   * a call, and a call that still has no output and is not asynchronous, here or earlier; it may come behind a compaction that the input
   * asks for. With a compaction, outputs without their call are left to `requirePairs`.
   */
  accept(input: readonly Item[]): Transcript {
    const base = this.owned();
    base.refuseDuplicates(input);
    if (base.marks.compaction === -1 && !input.some(isCompaction)) {
      base.refuseOutputsWithoutCall(input);
      for (const [callId, type] of base.strayOutputs) {
        if (!input.some((item) => isPairedCall(item) && callIdOf(item) === callId)) throw noCallFor(type, callId);
      }
      base.refuseSecondOutputs(input);
    }
    base.refuseSecondOutputsOfAsyncCalls(input);
    if (!endsWithTrigger(input))
      for (const [callId, type] of base.openCallsAfter(input)) throw noOutputFor(type, callId);
    return base.append(input);
  }

  /**
   * Throws ApiError 400 for an output from a position on whose call is neither among the items nor among those that the compaction at this
   * position stands for, and for a call among these that has no output.
   */
  requirePairs(from: number, compacted: readonly Item[]): void {
    const calls = compacted.filter(isPairedCall);
    if (this.strayOutputs.size === 0 && calls.length === 0) return;
    const [items, callIds] = [this.itemsFrom(from), new Set(calls.map(callIdOf))];
    for (const item of items) {
      const callId = callIdOf(item);
      if (callId === undefined || !isPairedOutput(item) || !this.strayOutputs.has(callId)) continue;
      if (!callIds.has(callId)) throw noCallFor(item.type, callId);
    }
    if (endsWithTrigger(items)) return;
    const answered = new Set([...compacted, ...items].filter(isPairedOutput).map(callIdOf));
    for (const call of calls) {
      const callId = callIdOf(call);
      if (callId !== undefined && !isAsyncCall(call) && !answered.has(callId)) throw noOutputFor(call.type, callId);
    }
  }

  /**
   * Adds items that the program gave a model; earlier calls may still lack outputs of the client. Throws an Error for a
   * duplicate item, an output without its call, and a given call without its output.
   */
  give(items: readonly Item[]): Transcript {
    const base = this.owned();
    base.refuseDuplicates(items);
    base.refuseOutputsWithoutCall(items);
    for (const callId of base.openCallsAfter(items).keys()) {
      if (!base.openCalls.has(callId)) throw new Error(`the call ${callId} was given without its output`);
    }
    return base.append(items);
  }

  /** Adds items without checks, such as a model's output. */
  append(items: readonly Item[]): Transcript {
    if (items.length === 0) return this;
    const { backing } = this.owned();
    for (const item of items) {
      backing.items.push(item);
      backing.ids.add(item.id);
      if (isPairedCall(item)) backing.callIds.add(callIdOf(item));
    }
    const marks = addMarks(this.marks, items, this.length);
    const [open, stray] = [this.openCallsAfter(items), this.strayOutputsAfter(items)];
    return new Transcript(backing, backing.items.length, open, stray, this.asyncCallsAfter(items), marks);
  }

  private openedAmong(items: readonly Item[]): OpenedItems {
    const { opened } = this.backing;
    if (opened.size === 0) return new Map();
    const own = new Set(items);
    return new Map([...opened].filter(([item]) => own.has(item)));
  }

  /** This transcript if it is the longest on its backing, else a fork. */
  private owned(): Transcript {
    return this.backing.items.length === this.length ? this : this.fork();
  }

  private refuseDuplicates(input: readonly Item[]): void {
    const { ids } = this.backing;
    const seen = input.length > 1 ? new Set<string>() : null;
    for (const { id } of input) {
      if (ids.has(id) || seen?.has(id) === true) {
        throw duplicateItem(id, 'input');
      }
      seen?.add(id);
    }
  }

  private refuseOutputsWithoutCall(input: readonly Item[]): void {
    if (!input.some(isPairedOutput)) return;
    const calls = new Set(input.filter(isPairedCall).map(callIdOf));
    for (const item of input) {
      if (!isPairedOutput(item)) continue;
      const callId = callIdOf(item);
      if (callId !== undefined && !calls.has(callId) && !this.backing.callIds.has(callId)) {
        throw noCallFor(item.type, callId);
      }
    }
  }

  /** Some models use a `call_id` again, also for calls side by side: each of them has an output. */
  private refuseSecondOutputs(input: readonly Item[]): void {
    const outputs = countByCallId(input.filter(isPairedOutput));
    if (outputs.size === 0) return;
    const calls = countByCallId(input.filter(isPairedCall));
    for (const [callId, given] of outputs) {
      const awaited = (calls.get(callId) ?? 0) + (this.openCalls.has(callId) ? 1 : 0);
      if (given <= awaited || this.asyncCalls.has(callId)) continue;
      const pair = [...this.items, ...input].filter((item) => callIdOf(item) === callId);
      if (pair.filter(isPairedOutput).length > pair.filter(isPairedCall).length) throw secondOutput(callId);
    }
  }

  private refuseSecondOutputsOfAsyncCalls(input: readonly Item[]): void {
    for (const [callId, missing] of this.asyncCallsAfter(input)) {
      if (missing < Math.min(this.asyncCalls.get(callId) ?? 0, 0)) throw secondOutput(callId);
    }
  }

  private asyncCallsAfter(items: readonly Item[]): ReadonlyMap<string, number> {
    const { asyncCalls } = this;
    // The common case: no asynchronous calls, and no outputs of earlier ones.
    const isAnswer = (item: Item): boolean => isPairedOutput(item) && asyncCalls.has(callIdOf(item) ?? '');
    if (!items.some(isAsyncCall) && (asyncCalls.size === 0 || !items.some(isAnswer))) return asyncCalls;
    const calls = new Map(asyncCalls);
    for (const item of items.filter(isAsyncCall)) {
      const callId = callIdOf(item);
      if (callId !== undefined) calls.set(callId, (calls.get(callId) ?? (this.strayOutputs.has(callId) ? -1 : 0)) + 1);
    }
    for (const item of items.filter(isPairedOutput)) {
      const missing = calls.get(callIdOf(item) ?? '');
      if (missing !== undefined) calls.set(callIdOf(item) ?? '', missing - 1);
    }
    return calls;
  }

  /** Outputs may precede their calls: clients order parallel calls freely. */
  private openCallsAfter(items: readonly Item[]): ReadonlyMap<string, string> {
    const { openCalls } = this;
    // The common case: no new calls, and no outputs of open ones.
    if (!items.some(isPairedCall) && (openCalls.size === 0 || !items.some(isPairedOutput))) return openCalls;
    const open = new Map(openCalls);
    for (const item of items.filter((item) => isPairedCall(item) && !isAsyncCall(item))) {
      const callId = callIdOf(item);
      if (callId !== undefined && !this.strayOutputs.has(callId)) open.set(callId, item.type);
    }
    for (const item of items.filter(isPairedOutput)) open.delete(callIdOf(item) ?? '');
    return open;
  }

  /** After the call ids of the items were added. */
  private strayOutputsAfter(items: readonly Item[]): ReadonlyMap<string, string> {
    const { strayOutputs, backing } = this;
    const isStray = (callId: string | undefined): callId is string =>
      callId !== undefined && !backing.callIds.has(callId);
    const added = items.filter((item) => isPairedOutput(item) && isStray(callIdOf(item)));
    // The common case.
    if (strayOutputs.size === 0 && added.length === 0) return strayOutputs;
    const stray = new Map([...strayOutputs].filter(([callId]) => isStray(callId)));
    for (const item of added) stray.set(callIdOf(item) ?? '', item.type);
    return stray;
  }
}

/** The error for an item whose id another one has (protocol §3.1). */
export function duplicateItem(id: string, param: 'input' | 'items'): ApiError {
  return ApiError.badRequest(
    `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
    param,
  );
}

function noCallFor(outputType: string, callId: string): ApiError {
  const what = outputType.replaceAll('_', ' ');
  return ApiError.badRequest(`No tool call found for ${what} with call_id ${callId}.`, 'input');
}

function noOutputFor(callType: string, callId: string): ApiError {
  return ApiError.badRequest(`No tool output found for ${callType.replaceAll('_', ' ')} ${callId}.`, 'input');
}

function secondOutput(callId: string): ApiError {
  return ApiError.badRequest(`The call with call_id ${callId} already has its output.`, 'input');
}

function countByCallId(items: readonly Item[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) {
    const callId = callIdOf(item);
    if (callId !== undefined) counts.set(callId, (counts.get(callId) ?? 0) + 1);
  }
  return counts;
}

function endsWithTrigger(items: readonly Item[]): boolean {
  const last = items.at(-1);
  return last !== undefined && isCompactionTrigger(last);
}

/** Whether the model goes on before a call has its output (protocol §3.4). */
function isAsyncCall(item: Item): boolean {
  return item['async'] === true && isPairedCall(item);
}

function isPairedCall({ type }: Item): boolean {
  return CALL_TYPES.has(type);
}

function isPairedOutput({ type }: Item): boolean {
  return OUTPUT_TYPES.has(type);
}
