import { types } from 'node:util';

import { requireSchema } from '../../config/index.js';
import type { Turn } from '../../providers/index.js';
import { lastUserText, toolNames } from '../../simulator/spaces/index.js';

/** A request, as matchers see it. */
export interface MatchedRequest {
  readonly model: string;
  /** The text of the last user message of the whole conversation; empty without one. */
  readonly text: string;
  /** The names of the functions and custom tools that it offers. */
  readonly tools: readonly string[];
  /** The conversation with the new input, oldest first. */
  readonly items: Turn['context'];
  /** The request as it was sent, without its input. */
  readonly parameters: Turn['parameters'];
  readonly instructions: string | null;
}

/**
 * Which requests an answer is for. A text is contained in the last user message, whatever its case, and a RegExp matches it; of an object
 * all members must match: `tool` is offered by the request, `model` is its name.
 */
export type Matcher =
  | string
  | RegExp
  | ((request: MatchedRequest) => boolean)
  | { readonly model?: string | RegExp; readonly text?: string | RegExp; readonly tool?: string | RegExp };

const MATCHER_SCHEMA = {
  type: ['string', 'object'],
  properties: { model: true, text: true, tool: true },
  additionalProperties: false,
};

/** A matcher as a function of turns. Throws an Error for what is none. */
export function toPredicate(matcher: Matcher): (turn: Turn) => boolean {
  if (typeof matcher === 'function') return (turn) => matcher(toRequest(turn));
  if (typeof matcher === 'string' || types.isRegExp(matcher)) return toPredicate({ text: matcher });
  requireSchema(matcher, MATCHER_SCHEMA, { whole: 'the matcher' });
  const { model, text, tool } = matcher;
  for (const [name, wanted] of Object.entries({ model, text, tool })) {
    if (wanted !== undefined && typeof wanted !== 'string' && !types.isRegExp(wanted))
      throw new Error(`${name} of the matcher must be a text or a RegExp`);
  }
  return (turn) => {
    if (model !== undefined && !matches(turn.settings.model, model, isSame)) return false;
    if (text !== undefined && !matches(lastUserText(turn), text, contains)) return false;
    return tool === undefined || toolNames(turn).some((name) => matches(name, tool, isSame));
  };
}

/** A matcher as the test wrote it. */
export function showMatcher(matcher: Matcher): string {
  if (typeof matcher === 'function') return matcher.name === '' ? 'a function' : matcher.name;
  if (typeof matcher === 'string') return JSON.stringify(matcher);
  if (types.isRegExp(matcher)) return String(matcher);
  const members = Object.entries(matcher).map(
    ([name, value]: readonly [string, string | RegExp]) =>
      `${name}: ${typeof value === 'string' ? JSON.stringify(value) : String(value)}`,
  );
  return `{ ${members.join(', ')} }`;
}

function toRequest(turn: Turn): MatchedRequest {
  const { settings, context: items, parameters } = turn;
  const { model, instructions } = settings;
  const isText = typeof instructions === 'string';
  return {
    model,
    text: lastUserText(turn),
    tools: toolNames(turn),
    items,
    parameters,
    instructions: isText ? instructions : null,
  };
}

type Comparison = (value: string, wanted: string) => boolean;

const isSame: Comparison = (value, wanted) => value === wanted;
const contains: Comparison = (value, wanted) => value.toLowerCase().includes(wanted.toLowerCase());

function matches(value: string, wanted: string | RegExp, compare: Comparison): boolean {
  if (typeof wanted === 'string') return compare(value, wanted);
  // `test` of an expression with the flag g or y goes on from its last match.
  wanted.lastIndex = 0;
  return wanted.test(value);
}
