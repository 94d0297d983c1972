import type { AllowRule } from '../model.ts';

/** (capability name, rule name, position) by code units; rules without a name come after those with one (contract 2.7, warning 4; design 9). */
export function tryOrder(a: AllowRule, b: AllowRule): number {
  return compare(a.capability, b.capability) || compareNames(a.name, b.name) || a.index - b.index;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function compareNames(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return compare(a, b);
}
