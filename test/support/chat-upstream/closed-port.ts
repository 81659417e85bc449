import { freePorts } from '../free-ports.js';

/** A port of the loopback interface on which nobody listens: connections are refused. */
export function closedPort(): Promise<number> {
  return freePorts();
}
