import { Logger } from '@nestjs/common';
import { beforeEach, expect, it, jest } from '@jest/globals';

import { FakeClock } from '../testing/index.js';
import { LineBudget } from './line-budget.js';
import { OutageLog } from './outage-log.js';

let clock: FakeClock;
let lines: unknown[];
let log: OutageLog;

beforeEach(() => {
  clock = new FakeClock();
  lines = [];
  const logger = new Logger();
  jest.spyOn(logger, 'warn').mockImplementation((line: unknown) => void lines.push(line));
  log = new OutageLog(logger, clock);
});

it('the log of outages says once a minute what goes wrong, and how often it did', () => {
  for (let request = 1; request <= 5; request += 1) log.warn(`request ${request} failed`, 'the database is away');
  expect(lines).toEqual(['request 1 failed: the database is away']);
  clock.advance(60_000);
  expect(lines.slice(1)).toEqual(['4 more in the last minute: the database is away']);
  log.warn('request 6 failed', 'the database is away');
  expect(lines.slice(2)).toEqual(['request 6 failed: the database is away']);
  clock.advance(60_000);
  expect(lines).toHaveLength(3);
});

it('the log of outages says another reason at once', () => {
  log.warn('request 1 failed', 'the database is away');
  log.warn('request 2 failed', 'the database is full');
  expect(lines).toEqual(['request 1 failed: the database is away', 'request 2 failed: the database is full']);
});

it('the log of outages says at once how often it did when the process ends, and nothing again', () => {
  for (let request = 1; request <= 5; request += 1) log.warn(`request ${request} failed`, 'the database is away');
  LineBudget.endAll();
  expect(lines.slice(1)).toEqual(['4 more in the last minute: the database is away']);
  expect(clock.pending).toBe(0);
  log.warn('request 6 failed', 'the database is away');
  LineBudget.endAll();
  expect(lines.slice(2)).toEqual(['request 6 failed: the database is away']);
});

it('the log of outages stays bounded when every reason is another one', () => {
  for (let request = 1; request <= 1000; request += 1) log.warn('a request failed', `reason ${request}`);
  expect(lines).toHaveLength(101);
  expect(clock.pending).toBe(101);
  clock.advance(60_000);
  expect(lines.slice(101)).toEqual(['899 more in the last minute: other lines']);
  expect(clock.pending).toBe(0);
});
