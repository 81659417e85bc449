import { isEventOf, isProtocolEvent } from '../../../protocol/index.js';
import { isObject } from '../../../validation/index.js';
import type { Handler } from './answer.js';
import { passOn } from './beside-output.js';

/** Answers to frames that this service does not send. */
const ABOUT_THE_CONNECTION = /^response\.(?:steer|inject|interrupt)\./;

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
