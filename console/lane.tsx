import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';

import type { Api, Json } from './api.ts';
import { type Actions, Composer, useDraft } from './composer.tsx';
import { NO_OPTIONS, OptionsForm, toMembers } from './options.tsx';
import type { LaneSocket } from './socket.ts';
import { TEXTS } from './texts.ts';
import { type Transport, Turn } from './turn.ts';
import { TurnView } from './turn-view.tsx';
import { WaitingItems } from './waiting.tsx';

interface LaneProperties {
  readonly api: Api;
  readonly socket: LaneSocket;
  /** Its name for people. */
  readonly name: string;
  readonly models: readonly string[];
  /** The response that the conversation continues, from the inspector. */
  readonly from: { readonly id: string } | undefined;
  readonly onInspect: (id: string) => void;
}

/** Pixels from its end at which a log is followed while it grows. */
const NEAR_END = 60;

/** The lanes of the socket that had a name so far: a conversation gets none of another one, whose turn may still run. */
let named = 0;
const nextLane = (): string => `lane-${(named += 1)}`;

/** One conversation: its form and its turns. The transport may change with every turn. */
export function Lane({ api, socket, name, models, from, onInspect }: LaneProperties) {
  const [model, setModel] = useState(models[0] ?? '');
  const [transport, setTransport] = useState<Transport>('sse');
  const [options, setOptions] = useState(NO_OPTIONS);
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [previous, setPrevious] = useState(from?.id);
  const [lane, setLane] = useState(nextLane);
  const [fault, setFault] = useState('');
  const [isDropping, setDropping] = useState(false);
  const [drawn, draw] = useReducer((count: number) => count + 1, 0);
  const draft = useDraft();
  const log = useLogThatFollows(drawn, turns.length);
  const last = turns.at(-1);
  const shown = useRef(last);
  shown.current = last;
  /** Nobody looks at a turn any more. */
  const leave = (): void => void shown.current?.leave(api, socket).catch(() => undefined);
  useEffect(() => leave, []);
  useEffect(() => {
    if (from === undefined) return;
    leave();
    setPrevious(from.id);
    setTurns([]);
    setLane(nextLane());
  }, [from]);
  const act = (action: Promise<void>): void => {
    setFault('');
    action.catch((error: unknown) => setFault((error as Error).message));
  };
  const ask = (input: Json): void => {
    const continued = turns.findLast(
      ({ response }) => response?.status === 'completed' || response?.status === 'incomplete',
    );
    const previousId: string | undefined = continued?.response.id ?? previous;
    const body = {
      model,
      input,
      ...toMembers(options),
      ...(previousId === undefined ? {} : { previous_response_id: previousId }),
      ...(transport === 'sse' ? { stream: true } : {}),
    };
    const turn = new Turn({ transport, body });
    turn.onChange = () => draw(undefined);
    setTurns([...turns, turn]);
    setFault('');
    void turn.run(api, socket, lane);
  };
  /** `onFault`: the form of the options is not right, and nothing was sent. */
  const tryToAsk = (input: Json, onFault = (): void => undefined): void => {
    try {
      ask(input);
    } catch (error) {
      onFault();
      setFault((error as Error).message);
    }
  };
  const send = (): void => {
    const { input, giveBack } = draft.take();
    tryToAsk(input, giveBack);
  };
  const steer = (turn: Turn): void => {
    const { input, giveBack } = draft.take();
    const takeBack = (error: unknown): never => {
      giveBack();
      throw error;
    };
    act(turn.steer(socket, input).catch(takeBack));
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setDropping(false);
    act(draft.add(event.dataTransfer?.files));
  };

  const actions = (): Actions => {
    if (last?.isRunning !== true) return { submit: send, submitName: TEXTS.send, others: new Map() };
    const isBegun = last.response !== undefined;
    if (last.asked.transport === 'websocket') {
      const others = isBegun ? [[TEXTS.interrupt, () => act(last.interrupt(socket))] as const] : [];
      return { submit: isBegun ? () => steer(last) : undefined, submitName: TEXTS.steer, others: new Map(others) };
    }
    const others = new Map<string, () => void>([[TEXTS.cancel, () => act(last.cancel(api))]]);
    if (last.isDetachable) others.set(TEXTS.detach, () => last.detach());
    return { submit: undefined, submitName: TEXTS.send, others };
  };

  return (
    <section
      class={`card lane ${isDropping ? 'dropping' : ''}`}
      aria-label={name}
      onDragOver={(event) => {
        event.preventDefault();
        setDropping(true);
      }}
      onDragLeave={() => setDropping(false)}
      onDrop={drop}
    >
      <div class="bar">
        <label class="grow">
          {TEXTS.model}
          <select value={model} onChange={({ currentTarget }) => setModel(currentTarget.value)}>
            {models.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label>
          {TEXTS.transport}
          <select value={transport} onChange={({ currentTarget }) => setTransport(currentTarget.value as Transport)}>
            {Object.entries(TEXTS.transports).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          disabled={last?.isRunning === true}
          onClick={() => {
            setTurns([]);
            setPrevious(undefined);
          }}
        >
          {TEXTS.clear}
        </button>
      </div>
      <OptionsForm api={api} options={options} onChange={setOptions} />
      <div ref={log} class="turns" role="log" aria-label={TEXTS.turnsOf(name)} tabIndex={0}>
        {turns.length === 0 && (
          <p class="hint empty">{previous === undefined ? TEXTS.emptyLane : TEXTS.continues(previous)}</p>
        )}
        {turns.map((turn, index) => (
          <TurnView key={index} turn={turn} api={api} onInspect={onInspect} />
        ))}
      </div>
      {last?.isRunning === false && <WaitingItems key={last.response?.id} items={last.items} onAnswer={tryToAsk} />}
      {last?.canAttach === true && (
        <button type="button" onClick={() => act(last.attach(api))}>
          {TEXTS.attach}
        </button>
      )}
      <p role="alert" class="fault">
        {fault}
      </p>
      <Composer draft={draft} actions={actions()} onFiles={(files) => act(draft.add(files))} />
    </section>
  );
}

/** An element that is scrolled to its end as it grows, unless somebody reads further up. */
function useLogThatFollows(drawn: number, turns: number) {
  const log = useRef<HTMLDivElement>(null);
  const height = useRef(0);
  useLayoutEffect(() => {
    const { current } = log;
    if (current === null) return;
    const isAtEnd = current.scrollTop + current.clientHeight >= height.current - NEAR_END;
    if (isAtEnd) current.scrollTop = current.scrollHeight;
    height.current = current.scrollHeight;
  }, [drawn, turns]);
  return log;
}
