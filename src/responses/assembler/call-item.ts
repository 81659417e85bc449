import type { Item } from '../../protocol/index.js';
import {
  foldDelta,
  type ItemOptions,
  type ItemStatus,
  OutputItem,
  ProviderContractError,
  requireText,
  type WireEvent,
} from './output-item.js';
import type { AssemblerState, CallState } from './state.js';

/** The differences between the two kinds of client calls: payload member, ids and events. */
interface CallFamily {
  readonly idPrefix: string;
  readonly payload: 'arguments' | 'input';
  readonly deltaType: string;
  readonly doneType: string;
  /** Replaces an empty payload: a function's arguments must parse as JSON. */
  readonly whenEmpty: string;
}

const FAMILIES: Readonly<Record<CallState['type'], CallFamily>> = {
  function_call: {
    idPrefix: 'fc',
    payload: 'arguments',
    deltaType: 'response.function_call_arguments.delta',
    doneType: 'response.function_call_arguments.done',
    whenEmpty: '{}',
  },
  custom_tool_call: {
    idPrefix: 'ctc',
    payload: 'input',
    deltaType: 'response.custom_tool_call_input.delta',
    doneType: 'response.custom_tool_call_input.done',
    whenEmpty: '',
  },
};

/** Clients cannot send longer ones back (protocol §2). */
const LONGEST_CALL_ID = 64;

/** The members that open a call. */
export interface CallHead {
  readonly type: CallState['type'];
  readonly name: string;
  readonly callId?: string;
  readonly namespace?: string;
}

/** A function or custom tool call. */
export class CallItem extends OutputItem<CallState> {
  private deltaPrefix: string | null = null;

  /** Opens a call. Throws ProviderContractError for an invalid name or call id. */
  static begin({ events, ids, outputIndex, key }: ItemOptions, { type, name, namespace, callId }: CallHead): CallItem {
    const id = ids.next(FAMILIES[type].idPrefix);
    requireText(name, 'the name of a call');
    const ownCallId = callId === undefined || isLeftOut(callId, events.state) ? ids.next('call') : callId;
    requireCallId(ownCallId);
    const state: CallState = {
      kind: 'call',
      id,
      key,
      type,
      callId: ownCallId,
      name,
      namespace,
      text: '',
      isDone: false,
    };
    const item = new CallItem(events, outputIndex, state);
    events.state.characters += headLength(state);
    item.announce();
    return item;
  }

  /** Appends to the payload. */
  append(delta: string): void {
    this.state.text += delta;
    this.deltaPrefix ??= `${this.position},"delta":`;
    this.events.writeDelta(this.family.deltaType, this.deltaPrefix, delta);
  }

  protected override finish(status: ItemStatus): Item {
    const { state, events, family } = this;
    if (state.text === '' && family.whenEmpty !== '' && status === 'completed') this.append(family.whenEmpty);
    if (!events.isSilent && !state.isDone) {
      events.write(family.doneType, `${this.position},"${family.payload}":${JSON.stringify(state.text)}`);
    }
    return this.toItem(status);
  }

  protected override atStart(): Item {
    return this.toItem('in_progress');
  }

  private get family(): CallFamily {
    return FAMILIES[this.state.type];
  }

  private toItem(status: ItemStatus | 'in_progress'): Item {
    const { id, type, callId, name, namespace, text } = this.state;
    return {
      id,
      type,
      status,
      call_id: callId,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      [this.family.payload]: text,
    };
  }
}

/** A call as `output_item.added` shows it. */
export function readCall(item: Item, key: string | null): CallState {
  const { id, type, call_id: callId, name, namespace } = item as unknown as CallState & { readonly call_id: string };
  return { kind: 'call', id, key, type, callId, name, namespace, text: '', isDone: false };
}

/** Characters of output in the members that open a call. */
export function headLength({ name, namespace = '', callId }: CallState): number {
  return name.length + namespace.length + callId.length;
}

/** Applies an event to a call; returns its characters of output. */
export function foldCall(call: CallState, event: WireEvent): number {
  if (event.type !== FAMILIES[call.type].deltaType) {
    call.isDone = true;
    return 0;
  }
  return foldDelta(call, event);
}

/**
 * Whether a call with this id was left out of the output. Its model does not know of it and may count from 1 again, but
 * readers of the stream have seen it, and the SDK accepts an id once.
 */
function isLeftOut(callId: string, { items, dropped }: AssemblerState): boolean {
  return dropped.some((index) => {
    const state = items[index];
    return state?.kind === 'finished' && state.item.call_id === callId;
  });
}

function requireCallId(callId: string): void {
  requireText(callId, 'the id of a call');
  if (callId.length > LONGEST_CALL_ID) {
    throw new ProviderContractError(`the id of a call has at most ${LONGEST_CALL_ID} characters`);
  }
}
