import { IsIn, IsOptional } from 'class-validator';

import { Closed, isObject, listOf, nested, Satisfies, stringOr, type Check } from '../../validation/index.js';
import { toolOutputPart } from './content-parts.js';
import { MessageMembers } from './message-items.js';

/** A message that steers a response (protocol §6.8): text, images and files of the user. */
@Closed()
class SteerMessage extends MessageMembers {
  @IsOptional()
  @IsIn(['message'])
  override readonly type?: 'message' | null = null;

  @IsIn(['user'])
  override readonly role: string = 'user';

  @Satisfies(
    stringOr({ kind: 'array', check: listOf(toolOutputPart), expected: 'one of an array of objects or string' }),
  )
  readonly content!: string | readonly object[];
}

/** The input of a `response.steer` (protocol §6.8); it must not be empty either. */
export const steerInput = stringOr({
  kind: 'array',
  check: listOf(nested(SteerMessage)),
  expected: 'one of a string or array of user messages',
});

/** What is wrong with the input of a `response.steer`, for the client; null when it can be used. */
export const describeSteerInput = (value: unknown): string | null => {
  const other = Array.isArray(value) ? value.findIndex(isOtherItem) : -1;
  // Reported first: the members of an item of another type belong to that type, and are not what is wrong.
  if (other !== -1) return `Invalid 'input[${other}].type': a response is steered with messages of the user.`;
  const violation: ReturnType<Check> = steerInput(value, { unknownParameters: 'reject' });
  if (violation !== null) return violation.under('input').toError().message;
  if (isEmpty(value) || contentsOf(value).some(isEmpty)) return "Invalid 'input': it must not be empty.";
  return null;
};

function isOtherItem(item: unknown): boolean {
  return isObject(item) && item.type != null && item.type !== 'message';
}

function contentsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.map((message: unknown) => isObject(message) && message.content) : [];
}

function isEmpty(value: unknown): boolean {
  return (typeof value === 'string' || Array.isArray(value)) && value.length === 0;
}
