import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';

import { TEXTS } from './texts.ts';

/** Longest pause after failures, ms. */
const LONGEST_PAUSE_MS = 60_000;

/** What was read last. */
export interface Live<T> {
  /** Undefined until the first answer has come. */
  readonly value: T | undefined;
  /** Why the latest reading has failed; undefined if it has not. */
  readonly fault: unknown;
  /** Reads now. */
  readonly refresh: () => void;
}

/**
 * Reads something again and again while the page is looked at: one reading at a time, with a pause after each that doubles while they fail.
 * Pass a stable function (useCallback): a new one starts again.
 */
export function useLive<T>(read: (signal: AbortSignal) => Promise<T>, pauseMs: number): Live<T> {
  const [{ value, fault }, setState] = useState<{ value?: T; fault?: unknown }>({});
  const [round, setRound] = useState(0);
  useEffect(() => {
    const left = new AbortController();
    const { signal } = left;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isReading = false;
    let failures = 0;
    const turn = async (): Promise<void> => {
      clearTimeout(timer);
      if (document.hidden || isReading) return;
      isReading = true;
      try {
        const now = await read(signal);
        failures = 0;
        if (!signal.aborted) setState({ value: now });
      } catch (error) {
        failures += 1;
        if (!signal.aborted) setState((before) => ({ ...before, fault: error }));
      }
      isReading = false;
      if (!signal.aborted) timer = setTimeout(() => void turn(), Math.min(pauseMs * 2 ** failures, LONGEST_PAUSE_MS));
    };
    const onShown = (): void => void turn();
    document.addEventListener('visibilitychange', onShown);
    void turn();
    return () => {
      left.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onShown);
    };
  }, [read, pauseMs, round]);
  return { value, fault, refresh: useCallback(() => setRound((count) => count + 1), []) };
}

/** Does what a person asks for on a view, and reads it anew. */
export interface Actions {
  readonly act: (action: Promise<unknown>) => void;
  /** What is wrong: why the latest reading has failed, or else the latest action. */
  readonly alert: ComponentChildren;
}

/** The actions of a view that reads with `useLive`. */
export function useActions({ fault, refresh }: Pick<Live<unknown>, 'fault' | 'refresh'>): Actions {
  const [failure, setFailure] = useState('');
  return {
    act: (action) => {
      setFailure('');
      action.catch((error: unknown) => setFailure((error as Error).message)).finally(refresh);
    },
    alert: (
      <p role="alert" class="fault">
        {fault === undefined ? failure : TEXTS.stale((fault as Error).message)}
      </p>
    ),
  };
}

/** What stands in place of what was not read yet: why not, if it has failed. */
export function Unread({ fault }: { readonly fault: unknown }) {
  if (fault === undefined) return <p class="hint">{TEXTS.loading}</p>;
  return (
    <p role="alert" class="fault">
      {(fault as Error).message}
    </p>
  );
}
