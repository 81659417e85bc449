import { render } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';

import { Api, ApiFailure, type Json } from './api.ts';
import { Inspector } from './inspector.tsx';
import { Lane } from './lane.tsx';
import { LaneSocket } from './socket.ts';
import { TEXTS } from './texts.ts';

/** The page: who asks, and the playground and the inspector of what they may see. */
function Console() {
  const [key, setKey] = useState('');
  const [attempt, setAttempt] = useState(0);
  const api = useMemo(() => new Api(key), [key, attempt]);
  const socket = useMemo(() => new LaneSocket(api), [api]);
  const [models, setModels] = useState<readonly string[]>();
  const [fault, setFault] = useState('');
  useEffect(() => {
    let isLeft = false;
    setFault('');
    setModels(undefined);
    api.json('GET', 'models').then(
      ({ data }: Json) => !isLeft && setModels(data.map(({ id }: Json) => id)),
      (error: unknown) => !isLeft && setFault(describe(error, key)),
    );
    return () => {
      isLeft = true;
      socket.close();
    };
  }, [api, socket, key]);
  return (
    <>
      <header class="bar">
        <h1>{TEXTS.title}</h1>
        <KeyForm onKey={setKey} />
      </header>
      <p class="hint">
        {TEXTS.start} <code>{api.base}</code>
      </p>
      {fault !== '' && (
        <p role="alert" class="fault">
          {fault}{' '}
          <button type="button" onClick={() => setAttempt(attempt + 1)}>
            {TEXTS.retry}
          </button>
        </p>
      )}
      <main>
        {models === undefined ? (
          fault === '' && <p class="hint">{TEXTS.connecting}</p>
        ) : models.length === 0 ? (
          <p class="hint">{TEXTS.noModels}</p>
        ) : (
          // With another key nothing of the former one is left.
          <Views key={key} api={api} socket={socket} models={models} />
        )}
      </main>
    </>
  );
}

function KeyForm({ onKey }: { readonly onKey: (key: string) => void }) {
  const [typed, setTyped] = useState('');
  return (
    <form
      class="bar"
      onSubmit={(event) => {
        event.preventDefault();
        onKey(typed.trim());
      }}
    >
      <label>
        {TEXTS.key}
        <input
          type="password"
          autocomplete="off"
          title={TEXTS.keyHint}
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      </label>
      <button type="submit">{TEXTS.useKey}</button>
    </form>
  );
}

interface ViewProperties {
  readonly api: Api;
  readonly socket: LaneSocket;
  readonly models: readonly string[];
}

/** Both views stay in the page, so that a turn goes on while another view is looked at. */
function Views({ api, socket, models }: ViewProperties) {
  const [isInspecting, setInspecting] = useState(false);
  const [inspected, setInspected] = useState<string>();
  const [from, setFrom] = useState<string>();
  const [lanes, setLanes] = useState(1);
  const inspect = (id: string): void => {
    setInspected(id);
    setInspecting(true);
  };
  return (
    <>
      <nav class="bar">
        <button type="button" aria-pressed={!isInspecting} onClick={() => setInspecting(false)}>
          {TEXTS.playground}
        </button>
        <button type="button" aria-pressed={isInspecting} onClick={() => setInspecting(true)}>
          {TEXTS.inspector}
        </button>
        <button type="button" aria-pressed={lanes === 2} onClick={() => setLanes(3 - lanes)}>
          {TEXTS.secondLane}
        </button>
      </nav>
      <div class="lanes" hidden={isInspecting}>
        {Array.from({ length: lanes }, (_, index) => (
          <Lane
            key={index}
            api={api}
            socket={socket}
            lane={`lane-${index + 1}`}
            name={TEXTS.laneName(index + 1)}
            models={models}
            from={index === 0 ? from : undefined}
            onInspect={inspect}
          />
        ))}
      </div>
      {isInspecting && (
        <Inspector
          api={api}
          id={inspected}
          onOpen={setInspected}
          onContinue={(id) => {
            setFrom(id);
            setInspecting(false);
          }}
        />
      )}
    </>
  );
}

function describe(error: unknown, key: string): string {
  const { status, message } = error instanceof ApiFailure ? error : { status: undefined, message: String(error) };
  if (status === 0) return TEXTS.offline;
  return status === 401 && key === '' ? TEXTS.needsKey : message;
}

const root = document.getElementById('console');
if (root !== null) {
  root.replaceChildren();
  render(<Console />, root);
}
