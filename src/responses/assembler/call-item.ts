import type { Item } from '../../protocol/index.js';
import {
  foldDelta,
  type ItemSeat,
  type ItemStatus,
  OutputItem,
  ProviderContractError,
  requireText,
  type WireEvent,
} from './output-item.js';
import type { CallState } from './state.js';

/** What distinguishes the two kinds of call that a client answers: its payload's name, its ids and its events. */
interface CallFamily {
  readonly idPrefix: string;
  readonly payload: 'arguments' | 'input';
  readonly deltaType: string;
  readonly doneType: string;
  /** What an empty payload becomes: a function's arguments must parse as JSON. */
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

/** Clients could not send a longer one back (protocol §2). */
const LONGEST_CALL_ID = 64;

/** What a call is opened with. */
export interface CallHead {
  readonly type: CallState['type'];
  readonly name: string;
  readonly callId?: string;
  readonly namespace?: string;
}

/** A function or custom tool call. */
export class CallItem extends OutputItem<CallState> {
  private deltaPrefix: string | null = null;

  /** Opens a call. Throws ProviderContractError for a name or call id that cannot be one. */
  static begin({ events, ids, outputIndex, key }: ItemSeat, { type, name, namespace, callId }: CallHead): CallItem {
    const id = ids.next(FAMILIES[type].idPrefix);
    requireText(name, 'the name of a call');
    const ownCallId = callId ?? ids.next('call');
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

  /** Takes a piece of the payload. */
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

/** Characters of output in what opens a call. */
export function headLength({ name, namespace = '', callId }: CallState): number {
  return name.length + namespace.length + callId.length;
}

/** What an event does to a call; gives the characters of output in it. */
export function foldCall(call: CallState, event: WireEvent): number {
  if (event.type !== FAMILIES[call.type].deltaType) {
    call.isDone = true;
    return 0;
  }
  return foldDelta(call, event);
}

function requireCallId(callId: string): void {
  requireText(callId, 'the id of a call');
  if (callId.length > LONGEST_CALL_ID) {
    throw new ProviderContractError(`the id of a call has at most ${LONGEST_CALL_ID} characters`);
  }
}
