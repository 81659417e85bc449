import { isEventOf, isProtocolEvent } from '../../../protocol/index.js';
import { isObject } from '../../../validation/index.js';
import type { Handler } from './answer.js';
import { passOn } from './beside-output.js';
import { isFinalItem, isForeignItem, isUselessCall } from './foreign-items.js';

/** Some servers change the `call_id` of such an item while it is open, so it opens when it is final. */
const OPENS_LATE = 'tool_search_call';

/** Answers to frames that this service does not send. */
const ABOUT_THE_CONNECTION = /^response\.(?:steer|inject|interrupt)\./;

const added: Handler = (answer, { output_index: index, item }) => {
  // Nothing could refer to an item without either; its final form tells all.
  const isNamed = isForeignItem(item) && (index != null || typeof item.id === 'string');
  if (isNamed && item.type === OPENS_LATE) return;
  if (!isNamed || answer.open(index, item) === null) answer.dropItem();
};

/** Minimal servers announce no item: it is opened and closed. */
const done: Handler = (answer, { output_index: index, item }) => {
  if (isFinalItem(item)) answer.close(answer.items.at(index, item.id) ?? answer.open(index, item), item);
  else if (isUselessCall(item)) answer.loseCall();
  else answer.dropItem();
};

/** The events that open and close items (upstreams §3.2). */
export const ITEMS: Readonly<Record<string, Handler>> = {
  'response.output_item.added': added,
  'response.output_item.done': done,
};

/** Events of items that are passed through, and events of types that no one knew when this was written. */
export const readOther: Handler = (answer, event) => {
  const { type } = event;
  const item = answer.items.find(event);
  if (item?.isOpen === true && isEventOf(item.type, type, event)) {
    answer.write({ type: 'item.event', key: item.key, event });
  } else if (isProtocolEvent(type) || type === '' || isObject(event.response) || ABOUT_THE_CONNECTION.test(type)) {
    answer.drop();
  } else {
    answer.countUnknown();
    passOn(answer, event);
  }
};
