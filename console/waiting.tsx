import { useState } from 'preact/hooks';

import type { Json } from './api.ts';
import { pretty } from './message.tsx';
import { TEXTS } from './texts.ts';

/** What a person has decided of a call; the reason is of a rejection. */
interface Decision {
  readonly approve: boolean;
  readonly reason: string;
}

const UNDECIDED: Decision = { approve: false, reason: '' };

/** The types of the calls that a client answers by a text, and those of their outputs. */
const OUTPUTS: ReadonlyMap<string, string> = new Map([
  ['function_call', 'function_call_output'],
  ['custom_tool_call', 'custom_tool_call_output'],
]);

/** Whether an item is a call that its client answers. */
export function isCall({ type }: Json): boolean {
  return OUTPUTS.has(type);
}

/** The items of a response that wait for its client: calls of its functions and custom tools, and requests for approvals. */
export function waitingIn(items: readonly Json[]): readonly Json[] {
  return items.filter((item) => item !== undefined && (isCall(item) || item.type === 'mcp_approval_request'));
}

interface WaitingItemsProperties {
  readonly items: readonly Json[];
  /** Called with the input of the turn that goes on. */
  readonly onAnswer: (input: readonly Json[]) => void;
}

/** A form for what a response waits for. */
export function WaitingItems({ items, onAnswer }: WaitingItemsProperties) {
  const waiting = waitingIn(items);
  const [outputs, setOutputs] = useState<Readonly<Record<string, string>>>({});
  const [decisions, setDecisions] = useState<Readonly<Record<string, Decision>>>({});
  if (waiting.length === 0) return null;
  const answer = (event: Event): void => {
    event.preventDefault();
    onAnswer(
      waiting.map(({ type, id, call_id: call }) =>
        OUTPUTS.has(type)
          ? { type: OUTPUTS.get(type), call_id: call, output: outputs[call] ?? '' }
          : toApproval(id, decisions[id] ?? UNDECIDED),
      ),
    );
  };
  return (
    <form class="waiting" onSubmit={answer}>
      {waiting.map((item) =>
        isCall(item) ? (
          <label key={item.call_id}>
            {TEXTS.output(item.name)}
            <textarea
              rows={2}
              value={outputs[item.call_id] ?? ''}
              onInput={({ currentTarget }) => setOutputs({ ...outputs, [item.call_id]: currentTarget.value })}
            />
          </label>
        ) : (
          <Approval
            key={item.id}
            item={item}
            decision={decisions[item.id] ?? UNDECIDED}
            onChange={(decision) => setDecisions({ ...decisions, [item.id]: decision })}
          />
        ),
      )}
      <button type="submit" class="primary">
        {TEXTS.sendOutputs}
      </button>
    </form>
  );
}

function Approval({
  item: { id, name, server_label: server, arguments: given },
  decision,
  onChange,
}: {
  readonly item: Json;
  readonly decision: Decision;
  readonly onChange: (decision: Decision) => void;
}) {
  return (
    <fieldset>
      <legend>{TEXTS.approval(name, server)}</legend>
      <pre tabIndex={0}>{pretty(given)}</pre>
      {[true, false].map((approve) => (
        <label key={String(approve)} class="inline">
          <input
            type="radio"
            name={id}
            checked={decision.approve === approve}
            onChange={() => onChange({ ...decision, approve })}
          />
          {approve ? TEXTS.approve : TEXTS.reject}
        </label>
      ))}
      {!decision.approve && (
        <label>
          {TEXTS.reason}
          <input
            value={decision.reason}
            onInput={({ currentTarget }) => onChange({ approve: false, reason: currentTarget.value })}
          />
        </label>
      )}
    </fieldset>
  );
}

function toApproval(id: string, { approve, reason }: Decision): Json {
  const isReasoned = !approve && reason.trim() !== '';
  return {
    type: 'mcp_approval_response',
    approval_request_id: id,
    approve,
    ...(isReasoned ? { reason: reason.trim() } : {}),
  };
}
