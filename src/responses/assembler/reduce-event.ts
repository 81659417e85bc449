import type { ModelEvent, PlainReasoning } from '../../providers/index.js';
import { CallItem } from './call-item.js';
import { MessageItem } from './message-item.js';
import { ProviderContractError } from './output-item.js';
import type { OutputItems } from './output-items.js';
import { PassThroughItem } from './pass-through-item.js';
import { ReasoningItem } from './reasoning-item.js';

/** The ModelEvents that belong to an output item. */
export type ItemEvent = Exclude<
  ModelEvent,
  { type: 'usage' | 'metadata' | 'hidden' | 'event' | 'finish' } | PlainReasoning
>;

type Reducers = {
  readonly [K in ItemEvent['type']]: (items: OutputItems, event: Extract<ItemEvent, { type: K }>) => void;
};

/** Applies each event to the items. */
const REDUCERS: Reducers = {
  text: (items, { key, delta, logprobs, part }) => items.at(key, MessageItem).text(delta, logprobs, part),
  refusal: (items, { key, delta, part }) => items.at(key, MessageItem).refusal(delta, part),
  annotation: (items, { key, annotation }) => items.at(key, MessageItem).annotate(annotation),
  reasoning: (items, { key, delta, part }) => items.at(key, ReasoningItem).text(delta, part),
  reasoning_summary: (items, { key, delta, part }) => items.at(key, ReasoningItem).summary(delta, part),
  reasoning_open: (items, { key }) => void items.at(key, ReasoningItem),
  reasoning_encrypted: (items, { key, content }) => items.at(key, ReasoningItem).encrypt(content),
  function_call: (items, event) => void items.begin(event.key, (options) => CallItem.begin(options, event)),
  function_call_arguments: (items, { key, delta }) => items.call(key, 'function_call').append(delta),
  custom_tool_call: (items, event) => void items.begin(event.key, (options) => CallItem.begin(options, event)),
  custom_tool_call_input: (items, { key, delta }) => items.call(key, 'custom_tool_call').append(delta),
  end: (items, { key }) => items.end(key),
  'item.open': (items, { key, item }) => items.open(key, item),
  'item.event': (items, { key, event }) => items.existing(key, PassThroughItem).event(event),
  'item.close': (items, { key, item }) => items.close(key, item),
};

/** Applies an event to the items. Throws ProviderContractError for invalid events. */
export function reduceEvent(items: OutputItems, event: ItemEvent): void {
  if (typeof event.type !== 'string' || !Object.hasOwn(REDUCERS, event.type)) {
    throw new ProviderContractError(`unknown model event type ${event.type}`);
  }
  const reduce = REDUCERS[event.type] as (items: OutputItems, event: ItemEvent) => void;
  reduce(items, event);
}
