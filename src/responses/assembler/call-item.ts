import type { Item } from '../../protocol/index.js';
import { type ItemSeat, type ItemStatus, OutputItem, ProviderContractError, requireText } from './output-item.js';

/** What distinguishes the two kinds of call that a client answers: the item type, its payload's name and its events. */
interface CallFamily {
  readonly type: 'function_call' | 'custom_tool_call';
  readonly idPrefix: string;
  readonly payload: 'arguments' | 'input';
  readonly deltaType: string;
  readonly doneType: string;
  /** What an empty payload becomes: a function's arguments must parse as JSON. */
  readonly whenEmpty: string;
}

/** Calls of function tools: arguments are JSON text. */
export const FUNCTION_CALL: CallFamily = {
  type: 'function_call',
  idPrefix: 'fc',
  payload: 'arguments',
  deltaType: 'response.function_call_arguments.delta',
  doneType: 'response.function_call_arguments.done',
  whenEmpty: '{}',
};

/** Calls of custom tools: the input is free text. */
export const CUSTOM_TOOL_CALL: CallFamily = {
  type: 'custom_tool_call',
  idPrefix: 'ctc',
  payload: 'input',
  deltaType: 'response.custom_tool_call_input.delta',
  doneType: 'response.custom_tool_call_input.done',
  whenEmpty: '',
};

/** Clients could not send a longer one back (protocol §2). */
const LONGEST_CALL_ID = 64;

/** What a call is opened with. */
export interface CallHead {
  readonly name: string;
  readonly callId?: string;
  readonly namespace?: string;
}

/** A function or custom tool call. */
export class CallItem extends OutputItem {
  readonly type: CallFamily['type'];
  private readonly callId: string;
  private readonly deltaPrefix: string;
  private text = '';

  constructor(
    seat: ItemSeat,
    private readonly family: CallFamily,
    private readonly head: CallHead,
  ) {
    super(seat, family.idPrefix);
    requireText(head.name, 'the name of a call');
    this.type = family.type;
    this.callId = head.callId ?? seat.ids.next('call');
    requireText(this.callId, 'the id of a call');
    if (this.callId.length > LONGEST_CALL_ID) {
      throw new ProviderContractError(`the id of a call has at most ${LONGEST_CALL_ID} characters`);
    }
    this.deltaPrefix = `${this.position},"delta":`;
    this.announce(this.toItem('in_progress'));
  }

  append(delta: string): void {
    this.text += delta;
    this.events.writeDelta(this.family.deltaType, this.deltaPrefix, delta);
  }

  protected override finish(status: ItemStatus): Item {
    if (this.text === '' && this.family.whenEmpty !== '' && status === 'completed') this.append(this.family.whenEmpty);
    this.events.write(this.family.doneType, `${this.position},"${this.family.payload}":${JSON.stringify(this.text)}`);
    return this.toItem(status);
  }

  private toItem(status: ItemStatus | 'in_progress'): Item {
    return {
      id: this.id,
      type: this.family.type,
      status,
      call_id: this.callId,
      name: this.head.name,
      ...(this.head.namespace === undefined ? {} : { namespace: this.head.namespace }),
      [this.family.payload]: this.text,
    };
  }
}
