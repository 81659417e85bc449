import { Allow, IsIn, IsOptional, IsString } from 'class-validator';
import { Closed, listOf, nested, Satisfies, stringOr, unionBy, type Check } from '../../validation/index.js';
import { AnyItem } from './any-item.js';
import { inputPart, outputPart } from './content-parts.js';
import { ITEM_STATUSES } from './item-status.js';

const contentOf = (part: Check): Check =>
  stringOr({ kind: 'array', check: listOf(part), expected: 'one of an array of objects or string' });

/** Members of messages besides their content (protocol §3.1). */
export class MessageMembers extends AnyItem {
  @Allow()
  readonly type?: 'message' | null;

  @Allow()
  readonly role!: string;

  @IsOptional()
  @IsIn(ITEM_STATUSES)
  readonly status?: string | null;

  // Unlike OpenAI, accepts any phase: it is only passed back to the model.
  @IsOptional()
  @IsString()
  readonly phase?: string | null;

  // Of the beta `responses_multi_agent=v1`: who wrote the message.
  @Allow()
  readonly agent?: unknown;

  // Sent by Codex in configurations with the built-in provider.
  @Allow()
  readonly internal_chat_message_metadata_passthrough?: unknown;
}

/** A message to the model, from a user, the system or a developer (protocol §3.1). */
@Closed()
class InputMessage extends MessageMembers {
  @Satisfies(contentOf(inputPart))
  readonly content!: string | readonly object[];
}

/** An assistant message as clients replay it: id, status and annotations may be missing (protocol §3.1). */
@Closed()
class AssistantMessage extends MessageMembers {
  @Satisfies(contentOf(outputPart))
  readonly content!: string | readonly object[];
}

const input = nested(InputMessage);

/** A message, validated by its role (protocol §3.1). */
export const messageItem = unionBy(
  'role',
  new Map([
    ['assistant', nested(AssistantMessage)],
    ['system', input],
    ['developer', input],
    ['user', input],
  ]),
);
