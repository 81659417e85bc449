import type { ForeignItem } from '../../../protocol/index.js';
import { isObject, parseJson } from '../../../validation/index.js';
import type { ModelEvent } from '../../model-event.js';
import type { ToolAddress } from './tool-address.js';
import { INPUT } from './tool-definition.js';
import { StringMemberReader } from './string-member-reader.js';

/** A call without its arguments. */
export interface CallHead {
  readonly key: string;
  readonly address: ToolAddress;
  readonly callId: string;
  /** Whether arguments of functions are passed on whatever they are. */
  readonly isRaw: boolean;
}

/** Translates the arguments of an upstream function call, as they arrive, into events for a call of the client's tool. */
export interface CallWriter {
  /** Whether events are emitted as arguments arrive rather than at the end. */
  readonly isStreamed: boolean;
  open(): readonly ModelEvent[];
  append(delta: string): readonly ModelEvent[];
  /** Whether these arguments, all that were appended, are complete: no client may run a call whose arguments were cut. */
  isWhole(json: string): boolean;
  /** Ends the call. `isWhole` is false if the answer was cut off within it. */
  close(isWhole: boolean): readonly ModelEvent[];
}

/** Creates the writer for the kind of a tool. */
export function writeCall(head: CallHead): CallWriter {
  const { kind } = head.address;
  if (kind === 'function') return new FunctionCallWriter(head);
  if (kind === 'custom') return new CustomCallWriter(head);
  return new ItemCallWriter(head, ITEM_OF_ARGUMENTS[kind]);
}

class FunctionCallWriter implements CallWriter {
  readonly isStreamed = true;

  constructor(private readonly head: CallHead) {}

  open(): readonly ModelEvent[] {
    return [{ type: 'function_call', ...namesOf(this.head) }];
  }

  append(delta: string): readonly ModelEvent[] {
    return [{ type: 'function_call_arguments', delta, key: this.head.key }];
  }

  isWhole(json: string): boolean {
    return this.head.isRaw || isJson(json);
  }

  close(isWhole: boolean): readonly ModelEvent[] {
    return endOf(this.head, isWhole);
  }
}

class CustomCallWriter implements CallWriter {
  readonly isStreamed = true;
  private readonly input = new StringMemberReader(INPUT);

  constructor(private readonly head: CallHead) {}

  open(): readonly ModelEvent[] {
    return [{ type: 'custom_tool_call', ...namesOf(this.head) }];
  }

  append(delta: string): readonly ModelEvent[] {
    return this.toEvents(this.input.feed(delta));
  }

  isWhole(): boolean {
    return this.input.isWhole;
  }

  close(isWhole: boolean): readonly ModelEvent[] {
    return [...this.toEvents(this.input.end()), ...endOf(this.head, isWhole)];
  }

  private toEvents(delta: string): readonly ModelEvent[] {
    return delta === '' ? [] : [{ type: 'custom_tool_call_input', delta, key: this.head.key }];
  }
}

/** Makes an item of complete arguments; undefined for invalid arguments. */
type ToItem = (value: Readonly<Record<string, unknown>>) => ForeignItem | undefined;

const ITEM_OF_ARGUMENTS: Readonly<Record<Exclude<ToolAddress['kind'], 'function' | 'custom'>, ToItem>> = {
  shell: ({ commands, timeout_ms: timeout, max_output_length: length }) => {
    const list = typeof commands === 'string' ? [commands] : commands;
    if (!isListOfTexts(list)) return undefined;
    const action = { commands: list, timeout_ms: numberOrNull(timeout), max_output_length: numberOrNull(length) };
    return { type: 'shell_call', action, environment: null };
  },
  local_shell: ({ command, env, working_directory: directory, timeout_ms: timeout, user }) => {
    if (!isListOfTexts(command)) return undefined;
    const action = {
      type: 'exec',
      command,
      env: isObject(env) ? env : {},
      ...(typeof directory === 'string' ? { working_directory: directory } : {}),
      ...(typeof timeout === 'number' ? { timeout_ms: timeout } : {}),
      ...(typeof user === 'string' ? { user } : {}),
    };
    return { type: 'local_shell_call', action };
  },
  apply_patch: ({ type, path, diff }) => {
    if (typeof path !== 'string') return undefined;
    if (type === 'delete_file') return { type: 'apply_patch_call', operation: { type, path } };
    if ((type !== 'create_file' && type !== 'update_file') || typeof diff !== 'string') return undefined;
    return { type: 'apply_patch_call', operation: { type, path, diff } };
  },
  tool_search: (value) => ({ type: 'tool_search_call', execution: 'client', arguments: value }),
};

/** For calls whose items have members instead of JSON text: the item is emitted once the arguments are complete. */
class ItemCallWriter implements CallWriter {
  readonly isStreamed = false;
  private json = '';

  constructor(
    private readonly head: CallHead,
    private readonly toItem: ToItem,
  ) {}

  open(): readonly ModelEvent[] {
    return [];
  }

  append(delta: string): readonly ModelEvent[] {
    this.json += delta;
    return [];
  }

  isWhole(json: string): boolean {
    return isJson(json);
  }

  close(isWhole: boolean): readonly ModelEvent[] {
    const { key, callId } = this.head;
    const value = parseJson(this.json);
    const item = isObject(value) ? this.toItem(value) : undefined;
    if (item === undefined) return this.asFunctionCall(isWhole);
    const call = { ...item, call_id: callId };
    return [
      { type: 'item.open', key, item: { ...call, status: 'in_progress' } },
      { type: 'item.close', key, item: { ...call, status: 'completed' } },
    ];
  }

  /** A call with invalid arguments becomes a function call with the arguments unchanged. */
  private asFunctionCall(isWhole: boolean): readonly ModelEvent[] {
    const writer = new FunctionCallWriter(this.head);
    return [...writer.open(), ...(this.json === '' ? [] : writer.append(this.json)), ...writer.close(isWhole)];
  }
}

function namesOf({ key, address, callId }: CallHead): {
  readonly key: string;
  readonly name: string;
  readonly callId: string;
  readonly namespace?: string;
} {
  const { name, namespace } = address;
  return { key, name, callId, ...(namespace === undefined ? {} : { namespace }) };
}

/** A call that was cut off stays open until the turn ends. */
function endOf({ key }: CallHead, isWhole: boolean): readonly ModelEvent[] {
  return isWhole ? [{ type: 'end', key }] : [];
}

/** Whether arguments say that there are none: blanks or `null`. They count as an empty object. */
export function hasNoArguments(json: string): boolean {
  return /^\s*(?:null\s*)?$/.test(json);
}

/** Whether arguments can be parsed. */
function isJson(text: string): boolean {
  return hasNoArguments(text) || parseJson(text) !== undefined;
}

function isListOfTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
