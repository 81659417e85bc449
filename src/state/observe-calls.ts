import { performance } from 'node:perf_hooks';

import { isPromise } from '../time/index.js';
import { StoreUnavailableError } from './errors.js';

/** How a call has ended: `refused` with an error that belongs to the contract, such as a full queue. */
export type CallOutcome = 'ok' | 'unavailable' | 'refused';

/** Is told of every call of the state; for metrics. */
export abstract class StateCallObserver {
  /** `operation` is a contract and its method, such as `responses.save`. */
  abstract called(operation: string, outcome: CallOutcome, durationMs: number): void;
}

/** A contract whose calls an observer is told of; without one, the contract itself. */
export function observeCalls<T extends object>(contract: T, name: string, observer: StateCallObserver | null): T {
  if (observer === null) return contract;
  const wrapped = new Map<PropertyKey, unknown>();
  return new Proxy(contract, {
    get: (target, property) => {
      const known = wrapped.get(property);
      if (known !== undefined) return known;
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function' || typeof property !== 'string') return value;
      const method = wrap(target, value as (...values: unknown[]) => unknown, `${name}.${property}`, observer);
      wrapped.set(property, method);
      return method;
    },
  });
}

function wrap(
  target: object,
  method: (...values: unknown[]) => unknown,
  operation: string,
  observer: StateCallObserver,
): (...values: unknown[]) => unknown {
  return (...values) => {
    const startedAt = performance.now();
    const tell = (outcome: CallOutcome): void => observer.called(operation, outcome, performance.now() - startedAt);
    try {
      const result = method.apply(target, values);
      if (!isPromise(result)) {
        tell('ok');
        return result;
      }
      // What the caller awaits is the result itself: a promise more per call would cost the turn.
      result.then(
        () => tell('ok'),
        (error: unknown) => tell(toOutcome(error)),
      );
      return result;
    } catch (error) {
      tell(toOutcome(error));
      throw error;
    }
  };
}

function toOutcome(error: unknown): CallOutcome {
  return error instanceof StoreUnavailableError ? 'unavailable' : 'refused';
}
