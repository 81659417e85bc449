import type { ContractService } from './contract-service.js';

/** A requirement and its test. Throws an Error that names the violation. */
export interface Check {
  readonly name: string;
  readonly run: (service: ContractService) => Promise<void>;
}
