import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { type Api, ApiFailure, type Json } from './api.ts';
import { Unread } from './live.tsx';
import { TEXTS } from './texts.ts';

/** Facts by their names. What is undefined is not shown. */
export type Facts = readonly (readonly [name: string, value: ComponentChildren])[];

/** Facts, one below the other. */
export function FactList({ facts }: { readonly facts: Facts }) {
  return (
    <dl class="facts">
      {facts.map(
        ([name, value]) =>
          value !== undefined && (
            <>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </>
          ),
      )}
    </dl>
  );
}

/** How the turn of a response has run: its requests to upstreams, the calls of tools, what it has cost, and where logs and traces have it. */
export function HowItRan({ api, id }: { readonly api: Api; readonly id: string }) {
  const [{ turn, fault }, setState] = useState<{ readonly turn?: Json; readonly fault?: unknown }>({});
  useEffect(() => {
    const left = new AbortController();
    api.json('GET', `responses/${id}/turn`, undefined, left.signal).then(
      (found) => setState({ turn: found }),
      (error: unknown) => !left.signal.aborted && setState({ fault: error }),
    );
    return () => left.abort();
  }, [api, id]);
  return (
    <>
      <h2>{TEXTS.howItRan}</h2>
      {turn !== undefined ? (
        <Run turn={turn} />
      ) : fault instanceof ApiFailure && fault.status === 404 ? (
        <p class="hint">{TEXTS.notRemembered}</p>
      ) : (
        <Unread fault={fault} />
      )}
    </>
  );
}

function Run({ turn }: { readonly turn: Json }) {
  const { attempts, tool_calls: calls, cost, provider, first_event_ms: firstEvent, duration_ms: duration } = turn;
  const { trace_id: trace, request_id: request } = turn;
  const facts: Facts = [
    [TEXTS.answeredBy, provider ?? undefined],
    [TEXTS.took, TEXTS.seconds(duration)],
    [TEXTS.firstEvent, firstEvent === null ? undefined : TEXTS.seconds(firstEvent)],
    [TEXTS.cost, cost === null ? TEXTS.noPrice : TEXTS.money(cost)],
    [TEXTS.trace, trace ?? TEXTS.noTrace],
    [TEXTS.requestId, request],
  ];
  return (
    <>
      <FactList facts={facts} />
      <p class="hint">{TEXTS.logHint}</p>
      <h3>{TEXTS.attempts}</h3>
      {attempts.length === 0 ? (
        <p class="hint">{TEXTS.noAttempts}</p>
      ) : (
        <Table
          title={TEXTS.attempts}
          names={TEXTS.attemptColumns}
          rows={attempts.map((attempt: Json) => [
            attempt.number,
            attempt.provider,
            attempt.model,
            attempt.kind,
            attempt.error_code ?? TEXTS.answeredWell,
            TEXTS.seconds(attempt.started_ms),
            attempt.first_output_ms === null ? '–' : TEXTS.seconds(attempt.first_output_ms),
            TEXTS.seconds(attempt.duration_ms),
          ])}
        />
      )}
      {calls.length > 0 && (
        <>
          <h3>{TEXTS.toolCalls}</h3>
          <Table
            title={TEXTS.toolCalls}
            names={TEXTS.toolCallColumns}
            rows={calls.map((call: Json) => [
              call.name,
              call.server ?? '–',
              call.error_type ?? TEXTS.answeredWell,
              TEXTS.seconds(call.started_ms),
              TEXTS.seconds(call.duration_ms),
            ])}
          />
        </>
      )}
    </>
  );
}

/** A table that is scrolled where it is wider than the page. */
function Table({
  title,
  names,
  rows,
}: {
  readonly title: string;
  readonly names: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}) {
  return (
    <div class="scrolled" role="region" aria-label={title} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {names.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
