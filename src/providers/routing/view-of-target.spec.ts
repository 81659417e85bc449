import { describe, expect, it } from '@jest/globals';

import type { Item, Origin } from '../../protocol/index.js';
import type { Turn } from '../turn.js';
import type { Target } from './target.js';
import { type Route, viewOf } from './view-of-target.js';

const user: Item = { type: 'message', id: 'msg_1', role: 'user', content: [] };
const hidden: Item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' };
const said: Item = { ...hidden, id: 'rs_2', content: [{ type: 'reasoning_text', text: 'Hm.' }] };
const items = [user, hidden, said, user];

const target = (providerName: string, readsForeignSeals = true): Target =>
  ({ providerName, provider: { readsForeignSeals } }) as Target;

const turn = (origin: Origin | null, context = 'all_turns'): Turn =>
  ({ parent: origin && { responseId: 'resp_1', origin }, settings: { reasoning: { context } } }) as Turn;

const route = (chosen: string, leavesForgetting = true): Route => ({ chosen: target(chosen), leavesForgetting });

describe(viewOf, () => {
  it.each<[string, string, Origin | null, string]>([
    ['who has answered before', 'one', { provider: 'one' }, 'two'],
    ['who is asked first, of items that a client sends', 'one', null, 'one'],
  ])('the view of a target gives encrypted reasoning to %s', (_, asked, origin, chosen) => {
    expect(viewOf(target(asked), turn(origin), route(chosen))(items)).toBe(items);
  });

  it.each<[string, string, Origin | null, string]>([
    ['another upstream than the one that has answered', 'two', { provider: 'one' }, 'two'],
    ['who is asked after another one has failed', 'two', null, 'one'],
  ])('the view of a target gives only its text to %s', (_, asked, origin, chosen) => {
    const { encrypted_content: _seal, ...text } = said;
    expect(viewOf(target(asked), turn(origin), route(chosen))(items)).toEqual([user, text, user]);
  });

  it.each([
    [
      'leaves out earlier reasoning for a target that does not do so itself, beside one that does',
      false,
      true,
      [user, user],
    ],
    ['leaves this to a target that does', true, true, items],
    ['leaves this to the service, which has done it for a route without such a target', false, false, items],
  ])('viewOf %s', (_, readsForeignSeals, leavesForgetting, expected) => {
    const view = viewOf(target('one', readsForeignSeals), turn(null, 'current_turn'), route('one', leavesForgetting));
    expect(view(items)).toEqual(expected);
  });
});
