import type { ForeignItem, Item } from '../../protocol/index.js';
import {
  foldDelta,
  type ItemOptions,
  type ItemStatus,
  OutputItem,
  type PassedItem,
  ProviderContractError,
  requireText,
  restOf,
  type WireEvent,
} from './output-item.js';
import { headOf, ownForm, PAYLOADS } from './own-form.js';
import type { AssemblerState, CallState } from './state.js';
import { joinHalves, takeHalf, withoutHalves } from './whole-characters.js';

/** The differences between the two kinds of client calls: ids and events. */
interface CallFamily {
  readonly idPrefix: string;
  readonly deltaType: string;
  readonly doneType: string;
  /** Replaces an empty payload: a function's arguments must parse as JSON. */
  readonly whenEmpty: string;
}

const FAMILIES: Readonly<Record<CallState['type'], CallFamily>> = {
  function_call: {
    idPrefix: 'fc',
    deltaType: 'response.function_call_arguments.delta',
    doneType: 'response.function_call_arguments.done',
    whenEmpty: '{}',
  },
  custom_tool_call: {
    idPrefix: 'ctc',
    deltaType: 'response.custom_tool_call_input.delta',
    doneType: 'response.custom_tool_call_input.done',
    whenEmpty: '',
  },
};

/** Clients cannot send longer ones back (protocol §2). */
const LONGEST_CALL_ID = 64;

/** The members that open a call. */
export interface CallOpening {
  readonly type: CallState['type'];
  readonly name: string;
  readonly callId?: string;
  readonly namespace?: string;
}

/** A function or custom tool call. */
export class CallItem extends OutputItem<CallState> {
  private deltaPrefix: string | null = null;

  /** Opens a call, as an upstream sends it if there is one. Throws ProviderContractError for an invalid name or call id. */
  static begin(
    { events, ids, isAsync, outputIndex, key }: ItemOptions,
    call: CallOpening,
    passed?: PassedItem,
  ): CallItem {
    const { type, name, namespace, callId } = withoutHalves(call);
    const id = passed?.id ?? ids.next(FAMILIES[type].idPrefix);
    requireText(name, 'the name of a call');
    const ownCallId = callId === undefined || isLeftOut(callId, events.state) ? ids.next('call') : callId;
    requireCallId(ownCallId);
    const head = passed === undefined ? null : headOf(passed.item, type);
    const state: CallState = {
      kind: 'call',
      id,
      key,
      // An upstream that has decided itself counts more.
      head: isAsync(call) ? { async: true, ...head } : head,
      type,
      callId: ownCallId,
      name,
      namespace,
      text: '',
      isDone: false,
    };
    const item = new CallItem(events, outputIndex, state);
    item.announce();
    return item;
  }

  override requireSame(final: ForeignItem): void {
    super.requireSame(final);
    const { callId } = this.state;
    const { call_id: finalId = callId } = final;
    if (withoutHalves(finalId) === callId || isLeftOut(finalId, this.events.state)) return;
    throw new ProviderContractError(`the call ${callId} ended as another one`);
  }

  /** Appends to the payload. */
  append(delta: string): void {
    this.write(joinHalves(this.state, delta));
    this.noteHalf(this.state);
  }

  private write(delta: string): void {
    if (delta === '') return;
    this.state.text += delta;
    this.deltaPrefix ??= `${this.position},"delta":`;
    this.events.writeDelta(this.family.deltaType, this.deltaPrefix, delta);
  }

  protected override finish(status: ItemStatus): Item {
    const { state, family } = this;
    this.write(takeHalf(state));
    if (state.text === '' && family.whenEmpty !== '' && status === 'completed') this.append(family.whenEmpty);
    this.writeDone();
    return ownForm(state, status);
  }

  protected override finishAs(final: Item): Item {
    const { state } = this;
    const payload = PAYLOADS[state.type];
    const { name = state.name, [payload]: text } = final;
    if (typeof text === 'string' && !state.isDone) {
      this.write(restOf(state.text, text));
      state.half = undefined;
      state.text = text;
    }
    this.writeDone();
    const isAsync = state.head?.['async'] === true;
    return {
      ...(isAsync ? { async: true } : {}),
      ...final,
      call_id: state.callId,
      name,
      [payload]: typeof text === 'string' ? text : state.text,
    };
  }

  protected override get type(): string {
    return this.state.type;
  }

  protected override atStart(): Item {
    return ownForm(this.state, 'in_progress');
  }

  private get family(): CallFamily {
    return FAMILIES[this.state.type];
  }

  private writeDone(): void {
    const { state, events } = this;
    if (events.isSilent || state.isDone) return;
    events.write(this.family.doneType, `${this.position},"${PAYLOADS[state.type]}":${JSON.stringify(state.text)}`);
  }
}

/** The members that open a call of an upstream. */
export function callHeadOf(item: ForeignItem, type: CallState['type']): CallOpening {
  const { name, call_id: callId, namespace } = item as Readonly<Record<string, string | undefined>>;
  return {
    type,
    name: name as string,
    ...(callId === undefined ? {} : { callId }),
    ...(typeof namespace === 'string' ? { namespace } : {}),
  };
}

/** A call as `output_item.added` shows it. */
export function readCall(item: Item, key: string | null): CallState {
  const { id, type, call_id: callId, name, namespace } = item as unknown as CallState & { readonly call_id: string };
  const head = headOf(item, type);
  return { kind: 'call', id, key, head, type, callId, name, namespace, text: '', isDone: false };
}

/** Applies an event to a call; returns its characters of output. */
export function foldCall(call: CallState, event: WireEvent): number {
  if (event.type !== FAMILIES[call.type].deltaType) {
    call.isDone = true;
    if (call.half !== undefined) call.half = undefined;
    call.text = event[PAYLOADS[call.type]] as string;
    return 0;
  }
  return foldDelta(call, event);
}

/**
 * Whether a call with this id was left out of the output. Its model does not know of it and may count from 1 again, but
 * readers of the stream have seen it, and the SDK accepts an id once.
 */
function isLeftOut(callId: unknown, { items, dropped }: AssemblerState): boolean {
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
