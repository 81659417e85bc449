import { describe, expect, it } from '@jest/globals';

import { renameItemId, toClientItemId, toUpstreamItemId, UuidIdGenerator } from './ids.js';

describe('ids', () => {
  const ids = new UuidIdGenerator();

  it('an id is a prefix and the digits of a UUIDv7', () => {
    expect(ids.next('resp')).toMatch(/^resp_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
  });

  it('ids are never the same twice, and sort in the order in which they were made', () => {
    const made = Array.from({ length: 10_000 }, () => ids.next('msg'));
    expect(new Set(made).size).toBe(made.length);
    expect(made.toSorted()).toEqual(made);
  });

  it('ids have nothing in common with those of another process', () => {
    const others = new UuidIdGenerator();
    const tails = (generator: UuidIdGenerator): readonly string[] =>
      Array.from({ length: 1000 }, () => generator.next('msg').slice(-12));
    expect(new Set([...tails(ids), ...tails(others)]).size).toBe(2000);
  });
});

describe('ids of the items of an upstream', () => {
  const ids = new UuidIdGenerator();
  const digits = '[0-9a-f]{32}';

  it.each([
    ['rs_0f9c2a7be1d34c5f8a6b7c8d9e0f1a2b3c4d5e6f7a8b9c0d'],
    ['msg_AbCdEfGh-jK_mNoP'],
    [`fc_${'a'.repeat(61)}`],
    ['mcp_0123456789abcdefg'],
    ['msg_d9b2d63d0c4e4b6f8a1e7c5f3b2a1908'],
    ['msg_d9b2d63d0c4e4b6f8a1e7c5f3b2a1908_1'],
  ])('ids of an upstream stay as they are if they look unique: %s', (id) => {
    expect(toClientItemId(id, 'message', ids)).toBe(id);
    expect(toUpstreamItemId(id)).toBe(id);
  });

  it.each([
    ['msg_1', 'message', 'msg'],
    ['msg_AbCdEfGh-jK_mNo', 'message', 'msg'],
    ['0', 'function_call', 'fc'],
    ['call:7.b', 'web_search_call', 'ws'],
    ['chatcmpl-tool', 'hologram_call', 'item'],
  ])('ids of an upstream get a unique beginning if they are short, and are found again: %s', (id, type, prefix) => {
    const ours = toClientItemId(id, type, ids);
    expect(ours).toMatch(new RegExp(`^${prefix}_${digits}_${id}$`));
    expect(ours.length).toBeLessThanOrEqual(64);
    expect(toClientItemId(id, type, ids)).not.toBe(ours);
    expect(toUpstreamItemId(ours)).toBe(id);
  });

  it.each([
    ['no id', undefined],
    ['null', null],
    ['a number', 7],
    ['an empty text', ''],
    ['one that is too long', `msg_${'a'.repeat(61)}`],
    ['one with quotes', 'msg_"1"'],
    ['one with spaces', 'msg 1'],
    ['one of this service behind this service', 'msg_0199aaaabbbb7ccc8ddd000000000001_msg_1'],
  ])('the id of an item of an upstream is new for %s', (_, id) => {
    const ours = toClientItemId(id, 'message', ids);
    expect(ours).toMatch(new RegExp(`^msg_${digits}$`));
    expect(toUpstreamItemId(ours)).toBeUndefined();
  });

  it('ids of this service are unknown to an upstream', () => {
    const id = ids.next('msg');
    expect(toClientItemId(id, 'message', ids)).toBe(id);
    expect(toUpstreamItemId(id)).toBeUndefined();
  });

  it('the ids of the items of an upstream can be made new although they look unique', () => {
    const ours = renameItemId('rs_0123456789abcdef', 'reasoning', ids);
    expect(ours).toMatch(new RegExp(`^rs_${digits}_rs_0123456789abcdef$`));
    expect(toUpstreamItemId(ours)).toBe('rs_0123456789abcdef');
  });
});
