import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';

import { isPermittedAddress } from '../../config/index.js';

/** A host has no address that requests may go to. */
export class RefusedAddressError extends Error {
  override readonly name = 'RefusedAddressError';

  constructor(host: string) {
    super(`${host} has no public address`);
  }
}

/**
 * A look-up that finds only addresses that requests may go to. It is that of the connection itself: a name cannot have other
 * addresses when it is checked than when it is used. Fails with RefusedAddressError, and the errors of `lookup`.
 *
 * @param isPermitted whether requests for a host may go to an address
 */
export function permittedLookup(
  lookup: LookupFunction,
  isPermitted: (address: string, host: string) => boolean = isPermittedAddress,
): LookupFunction {
  return (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error !== null) {
        callback(error, '');
        return;
      }
      const permitted = (found as LookupAddress[]).filter(({ address }) => isPermitted(address, host));
      const [first] = permitted;
      if (first === undefined) callback(new RefusedAddressError(host), '');
      else if (options.all === true) callback(null, permitted);
      else callback(null, first.address, first.family);
    });
  };
}
