import { beforeEach, describe, expect, it } from '@jest/globals';

import { Environment } from '../../config/index.js';
import { FakeClock } from '../../testing/index.js';
import { BodyBudget, type BodyShare } from './body-budget.js';
import { BodyGarbage } from './body-garbage.js';

const MEGABYTE = 1024 * 1024;

let budget: BodyBudget;
let refused: string[];

beforeEach(() => {
  budget = new BodyBudget(
    Object.assign(new Environment(), { BODY_TOTAL_BYTES: 10 * MEGABYTE }),
    new BodyGarbage(new FakeClock()),
  );
  refused = [];
});

function open(name: string, megabytes: number): BodyShare {
  const share = budget.open(({ status, code }) => refused.push(`${name}: ${status} ${code}`));
  share.hold(megabytes * MEGABYTE);
  return share;
}

describe('a full budget', () => {
  it('a full budget refuses the largest unfinished body, once', () => {
    const large = open('large', 6);
    const medium = open('medium', 3);
    open('small', 2);
    expect(refused).toEqual(['large: 503 server_is_overloaded']);
    expect(budget.bytes).toBe(5 * MEGABYTE);
    medium.hold(9 * MEGABYTE);
    large.giveUp(new Error() as never);
    expect(refused).toEqual(['large: 503 server_is_overloaded', 'medium: 503 server_is_overloaded']);
  });

  it('a full budget refuses the body that grows when it is the largest', () => {
    open('other', 4);
    open('growing', 4).hold(7 * MEGABYTE);
    expect(refused).toEqual(['growing: 503 server_is_overloaded']);
  });

  it('a full budget does not refuse a complete body', () => {
    open('complete', 6).complete();
    budget.openComplete().hold(3 * MEGABYTE);
    open('unfinished', 2);
    expect(refused).toEqual(['unfinished: 503 server_is_overloaded']);
    expect(budget.bytes).toBe(9 * MEGABYTE);
  });
});

it('the budget does not count small bodies', () => {
  const share = open('small', 0);
  share.hold(64 * 1024);
  expect(budget.bytes).toBe(0);
  share.hold(64 * 1024 + 1);
  expect(budget.bytes).toBe(64 * 1024 + 1);
});

it('the budget has room again for what was released', () => {
  const share = open('first', 9);
  share.release();
  share.release();
  open('second', 9);
  expect(refused).toEqual([]);
  expect(budget.bytes).toBe(9 * MEGABYTE);
});
