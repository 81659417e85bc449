import { ANSWER_CHECKS } from './answer-checks.js';
import type { Check } from './check.js';
import { ContractService } from './contract-service.js';
import { TRANSCRIPT_CHECKS } from './transcript-checks.js';
import { FAILURE_CHECKS } from './failure-checks.js';
import { LISTING_CHECKS } from './listing-checks.js';
import { MISBEHAVIOUR_CHECKS } from './misbehaviour-checks.js';
import { MODEL_CHECKS } from './model-checks.js';
import type { ProviderSubject } from './provider-subject.js';
import { HANGING_CHECKS, STOP_CHECKS } from './stop-checks.js';

/** One requirement of a provider. */
export interface ContractCase {
  readonly name: string;
  /** Rejects with an Error that names the violation. Independent of test frameworks and of the other cases. */
  readonly run: () => Promise<void>;
}

/**
 * The requirements of every provider, tested against the service with the provider in it:
 *
 *     for (const { name, run } of providerContract(subject)) it(name, run);
 *
 * The first half tests the provider itself. The second replaces its events with faulty ones (throws, hangs, invalid
 * events, early end): the streams must still follow the protocol, and the next turn must be answered.
 */
export function providerContract(subject: ProviderSubject): readonly ContractCase[] {
  const checks: readonly Check[] = [
    ...MODEL_CHECKS,
    ...ANSWER_CHECKS,
    ...TRANSCRIPT_CHECKS,
    ...STOP_CHECKS,
    ...(subject.hanging === undefined ? [] : HANGING_CHECKS),
    ...(subject.failing === undefined ? [] : FAILURE_CHECKS),
    ...LISTING_CHECKS,
    ...MISBEHAVIOUR_CHECKS,
  ];
  return checks.map((check) => ({ name: check.name, run: () => runCheck(check, subject) }));
}

async function runCheck({ run }: Check, subject: ProviderSubject): Promise<void> {
  const service = await ContractService.start(subject);
  try {
    await run(service);
    service.requireUnseen(subject.secrets ?? []);
    await service.within(service.tap.settle(), "the end of every provider's stream");
  } finally {
    await service.close();
  }
}
