import { describe, expect, it } from '@jest/globals';

import { FakeClock } from '../../../testing/index.js';
import { UpstreamError } from '../upstream-error.js';
import { Retries } from './retries.js';

const NOW = 1_800_000_000_000;

function retries(options: object = {}, drawn = 0.5): { readonly sut: Retries; readonly clock: FakeClock } {
  const clock = new FakeClock(NOW);
  const limits = { requestMaxRetries: 4, streamMaxRetries: 5, budgetMs: 60_000, ...options };
  return { sut: new Retries(limits, clock, { next: () => drawn }), clock };
}

const broken = (options: object = {}): UpstreamError => new UpstreamError('broken', { remedy: 'retry', ...options });

describe('the repetitions of a stream', () => {
  it('§5.1 are as many as stream_max_retries, after 200 ms × 2ⁿ', () => {
    const { sut } = retries();
    const pauses = Array.from({ length: 6 }, () => sut.next(broken()));
    expect(pauses.map((next) => next?.pauseMs)).toEqual([200, 400, 800, 1600, 3200, undefined]);
    expect(pauses[2]).toMatchObject({ number: 3, most: 5 });
  });

  it.each([
    [0, 180],
    [1, 220],
  ])('§5.1 have a jitter of ten percent (drawn %f)', (drawn, pauseMs) => {
    expect(retries({}, drawn).sut.next(broken())?.pauseMs).toBeCloseTo(pauseMs);
  });

  it('§5.1 wait as long as the upstream asks, counted from when the error was read', () => {
    const { sut, clock } = retries();
    const error = broken({ retryAt: NOW + 3000 });
    clock.advance(1000);
    expect(sut.next(error)?.pauseMs).toBe(2000);
    clock.advance(5000);
    expect(sut.next(error)?.pauseMs).toBe(0);
  });

  it('§5.2 are counted anew after a fallback', () => {
    const { sut } = retries({ streamMaxRetries: 1 });
    expect([sut.next(broken()), sut.next(broken())]).toMatchObject([{ number: 1 }, null]);
    sut.reset();
    expect(sut.next(broken())).toMatchObject({ number: 1, pauseMs: 200 });
  });

  it('the repetitions of a stream stay within the budget of time from the first failure, over a fallback too', () => {
    const { sut, clock } = retries({ budgetMs: 1000 });
    clock.advance(300_000);
    expect(sut.next(broken({ retryAt: clock.now() + 1001 }))).toBeNull();
    clock.advance(900);
    sut.reset();
    expect([sut.next(broken()), sut.allows(100), sut.allows(101)]).toEqual([null, true, false]);
  });
});

describe('the repetitions of an HTTP request', () => {
  it('the repetitions of an HTTP request come before those of the stream, and begin anew with each of them', () => {
    const { sut } = retries({ requestMaxRetries: 2, streamMaxRetries: 1 });
    const error = broken({ isRequestLevel: true });
    const numbers = Array.from({ length: 6 }, () => sut.next(error)).map((next) => next && [next.number, next.pauseMs]);
    expect(numbers).toEqual([[null, 200], [null, 400], [1, 200], [null, 200], [null, 400], null]);
  });
});
