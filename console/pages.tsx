import { useEffect, useState } from 'preact/hooks';

import type { Api, Json } from './api.ts';
import { TEXTS } from './texts.ts';

/** A list of the API as far as it was read. */
export interface Pages {
  /** Undefined until the first page has come. */
  readonly entries: readonly Json[] | undefined;
  readonly hasMore: boolean;
  readonly fault: string;
  /** Reads the next page, also after a fault. */
  readonly more: () => void;
}

/** Reads the first page of a list, and the next ones when they are asked for. The path has a query. */
export function usePages(api: Api, path: string): Pages {
  const [entries, setEntries] = useState<readonly Json[]>();
  const [hasMore, setHasMore] = useState(false);
  const [fault, setFault] = useState('');
  // An object for each reading: the same page may be asked for again.
  const [asked, ask] = useState<{ readonly after?: string }>({});
  useEffect(() => {
    const left = new AbortController();
    const { after } = asked;
    setFault('');
    api.json('GET', after === undefined ? path : `${path}&after=${after}`, undefined, left.signal).then(
      ({ data, has_more: isCut }: Json) => {
        setEntries((known) => (after === undefined ? data : [...(known ?? []), ...data]));
        setHasMore(isCut);
      },
      (error: unknown) => !left.signal.aborted && setFault((error as Error).message),
    );
    return () => left.abort();
  }, [api, path, asked]);
  return { entries, hasMore, fault, more: () => ask({ after: entries?.at(-1)?.id }) };
}

/** The end of a list: what went wrong, or a button for the next page. */
export function More({
  hasMore,
  fault,
  onMore,
}: {
  readonly hasMore: boolean;
  readonly fault: string;
  readonly onMore: () => void;
}) {
  return (
    <>
      <p role="alert" class="fault">
        {fault}
      </p>
      {(hasMore || fault !== '') && (
        <button type="button" onClick={onMore}>
          {fault === '' ? TEXTS.more : TEXTS.retry}
        </button>
      )}
    </>
  );
}
