import { Allow, IsIn, IsOptional, IsString } from 'class-validator';
import {
  type Check,
  Closed,
  described,
  listOf,
  movedMember,
  nested,
  Satisfies,
  schemaOf,
  stringOr,
  unionBy,
} from '../../validation/index.js';
import { AnyItem, ITEM_STATUSES } from './any-item.js';
import { inputPart, outputPart } from './content-parts.js';

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

/** Members of messages of Chat Completions, and the items that have their content here. Without it the context would mean something else. */
const CHAT_MEMBERS = [
  ['tool_calls', 'function_call'],
  ['function_call', 'function_call'],
  ['tool_call_id', 'function_call_output'],
] as const;

function withoutChatMembers(check: Check): Check {
  return described(
    (value, options) => {
      if (options.unknownParameters === 'ignore') return check(value, options);
      for (const [name, type] of CHAT_MEMBERS) {
        const content = (value as Readonly<Record<string, unknown>>)[name];
        const isEmpty = content == null || (Array.isArray(content) && content.length === 0);
        if (!isEmpty) return movedMember(name, `items of type '${type}'`);
      }
      return check(value, options);
    },
    (definitions) => schemaOf(check, definitions),
  );
}

const input = withoutChatMembers(nested(InputMessage));

/** A message, validated by its role (protocol §3.1). */
export const messageItem = unionBy('role', {
  assistant: withoutChatMembers(nested(AssistantMessage)),
  system: input,
  developer: input,
  user: input,
});
