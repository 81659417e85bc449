import { expect } from '@jest/globals';

import type { Members } from '../support/output.js';
import { assistant, user } from '../support/translation/user-items.js';

/** How a request is refused that does not fit the window, before the upstream is asked. */
export const TOO_LONG = {
  status: 400,
  error: {
    type: 'invalid_request_error',
    code: 'context_length_exceeded',
    param: 'input',
    message: expect.stringContaining('context window') as unknown,
  },
  wasAsked: false,
};

/** So many words, of about as many tokens. */
export function words(count: number): string {
  return Array.from({ length: count }, () => 'word').join(' ');
}

/** A conversation of so many questions and answers, each of about 100 tokens. */
export function rounds(count: number): readonly object[] {
  return Array.from({ length: count }, (_, index) => [
    user(`question ${index} ${words(90)}`),
    assistant(`answer ${index} ${words(90)}`),
  ]).flat();
}

/** How messages begin: `question 3`. */
export function beginningsOf(messages: readonly Members[]): readonly string[] {
  return messages.map(({ content }) => String(content).split(' ').slice(0, 2).join(' '));
}
