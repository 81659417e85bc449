import { useEffect, useState } from 'preact/hooks';

import type { Api, Json, StreamEvent } from './api.ts';
import { EventList } from './event-list.tsx';
import { Items } from './items.tsx';
import { TEXTS } from './texts.ts';

interface Inspected {
  readonly response: Json;
  readonly input: readonly Json[];
  readonly tree: Json;
}

interface InspectorProperties {
  readonly api: Api;
  readonly id: string | undefined;
  readonly onOpen: (id: string | undefined) => void;
  readonly onContinue: (id: string) => void;
}

/** A stored response with all that belongs to it; without an id, the latest ones. */
export function Inspector({ api, id, onOpen, onContinue }: InspectorProperties) {
  const [typed, setTyped] = useState('');
  const [latest, setLatest] = useState<readonly Json[]>();
  const [found, setFound] = useState<Inspected>();
  const [fault, setFault] = useState('');
  useEffect(() => {
    const left = new AbortController();
    setFault('');
    setFound(undefined);
    const read = async (): Promise<void> => {
      if (id === undefined) setLatest((await api.json('GET', 'responses?limit=50', undefined, left.signal)).data);
      else setFound(await inspect(api, id, left.signal));
    };
    read().catch((error: unknown) => {
      if (!left.signal.aborted) setFault((error as Error).message);
    });
    return () => left.abort();
  }, [api, id]);
  return (
    <section class="inspector" aria-label={TEXTS.inspector}>
      <form
        class="bar"
        onSubmit={(event) => {
          event.preventDefault();
          onOpen(typed.trim() === '' ? undefined : typed.trim());
        }}
      >
        <label>
          {TEXTS.responseId}
          <input value={typed} onInput={({ currentTarget }) => setTyped(currentTarget.value)} />
        </label>
        <button type="submit">{TEXTS.open}</button>
        <button type="button" onClick={() => onOpen(undefined)}>
          {TEXTS.latest}
        </button>
      </form>
      <p role="alert" class="fault">
        {fault}
      </p>
      {id === undefined ? (
        <Latest responses={latest} onOpen={onOpen} />
      ) : found === undefined ? (
        fault === '' && <p class="hint">{TEXTS.loading}</p>
      ) : (
        <>
          <h2>{id}</h2>
          <p>{TEXTS.status(found.response.status, found.response.usage?.total_tokens)}</p>
          <button type="button" onClick={() => onContinue(id)}>
            {TEXTS.continueHere}
          </button>
          <h3>{TEXTS.request}</h3>
          <Items items={found.input} isWhole />
          <h3>{TEXTS.items}</h3>
          <Items items={found.response.output} isWhole />
          <Replay key={id} api={api} id={id} />
          <h3>{TEXTS.tree}</h3>
          <ul class="tree">
            <Branch node={found.tree} current={id} onOpen={onOpen} />
          </ul>
          <details>
            <summary>{TEXTS.response}</summary>
            <pre tabIndex={0}>{JSON.stringify(found.response, null, 2)}</pre>
          </details>
        </>
      )}
    </section>
  );
}

/** The tree begins with the first response of the conversation, as far back as it is stored. */
async function inspect(api: Api, id: string, signal: AbortSignal): Promise<Inspected> {
  const response = await api.json('GET', `responses/${id}`, undefined, signal);
  const [input, tree] = await Promise.all([
    api.json('GET', `responses/${id}/input_items?order=asc&limit=100`, undefined, signal),
    readTree(api, response, signal),
  ]);
  return { response, input: input.data, tree: tree.root };
}

/** How far back the beginning of a conversation is looked for. */
const MOST_ANCESTORS = 20;

async function readTree(api: Api, response: Json, signal: AbortSignal): Promise<Json> {
  let root = response;
  for (let count = 0; count < MOST_ANCESTORS && root.previous_response_id !== null; count += 1) {
    try {
      root = await api.json('GET', `responses/${root.previous_response_id}`, undefined, signal);
    } catch (error) {
      // It was not stored, or is gone.
      if (signal.aborted) throw error;
      break;
    }
  }
  return api.json('GET', `responses/${root.id}/tree?depth=40&limit=200`, undefined, signal);
}

function Latest({
  responses,
  onOpen,
}: {
  readonly responses: readonly Json[] | undefined;
  readonly onOpen: (id: string) => void;
}) {
  if (responses === undefined) return <p class="hint">{TEXTS.loading}</p>;
  if (responses.length === 0) return <p class="hint">{TEXTS.noResponses}</p>;
  return (
    <ul class="latest">
      {responses.map(({ id, model, status, output_text: text }) => (
        <li key={id}>
          <button type="button" onClick={() => onOpen(id)}>
            {model}, {status}: {String(text).slice(0, 80) || id}
          </button>
        </li>
      ))}
    </ul>
  );
}

function Branch({
  node,
  current,
  onOpen,
}: {
  readonly node: Json;
  readonly current: string;
  readonly onOpen: (id: string) => void;
}) {
  return (
    <li>
      <button type="button" aria-current={node.id === current} onClick={() => onOpen(node.id)}>
        {String(node.response.output_text).slice(0, 60) || node.id}
      </button>
      {node.children.data.length > 0 && (
        <ul>
          {node.children.data.map((child: Json) => (
            <Branch key={child.id} node={child} current={current} onOpen={onOpen} />
          ))}
        </ul>
      )}
    </li>
  );
}

function Replay({ api, id }: { readonly api: Api; readonly id: string }) {
  const [after, setAfter] = useState('');
  const [events, setEvents] = useState<readonly StreamEvent[]>([]);
  const [fault, setFault] = useState('');
  const replay = async (): Promise<void> => {
    setFault('');
    const read: StreamEvent[] = [];
    const query = after === '' ? '' : `&starting_after=${after}`;
    try {
      for await (const event of api.events('GET', `responses/${id}?stream=true${query}`)) read.push(event);
    } catch (error) {
      setFault((error as Error).message);
    }
    setEvents(read);
  };
  return (
    <>
      <h3>{TEXTS.events(events.length)}</h3>
      <p class="hint">{TEXTS.replayHint}</p>
      <form
        class="bar"
        onSubmit={(event) => {
          event.preventDefault();
          void replay();
        }}
      >
        <label>
          {TEXTS.replayFrom}
          <input inputMode="numeric" value={after} onInput={({ currentTarget }) => setAfter(currentTarget.value)} />
        </label>
        <button type="submit">{TEXTS.replay}</button>
      </form>
      <p role="alert" class="fault">
        {fault}
      </p>
      {events.length > 0 && <EventList events={events} />}
    </>
  );
}
