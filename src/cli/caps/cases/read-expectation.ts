import { transformFailures } from '../../../events/enumerations.ts';
import { parseJson } from '../../../kernel/json.ts';
import { enumOf } from '../../../policy/check/strings.ts';
import type { Fields, Shape } from '../../../policy/check/fields.ts';
import { described, openFields, shown } from '../../../policy/check/fields.ts';
import { ruleChecks } from '../../../policy/compiled-policy.ts';
import type { DocumentNode, MapNode } from '../../../policy/document/node.ts';
import type { Reporter } from '../../../policy/problem.ts';
import type { TransformFailure } from '../../../transforms/contract.ts';
import { headerEntries, isText, jsonTextOf, optionalFields } from './case-fields.ts';
import type { Expectation, SentExpectation } from './case-model.ts';
import { denyReasons } from './case-model.ts';

const shape: Shape = { decision: 'string', reason: 'string', check: 'string', refused: 'string', capability: 'string', rule: 'string', sent: 'map', transforms_failed: 'map', counters: 'map' };
const sentShape: Shape = { path: 'string', query: 'string', headers: 'map', body: 'string', json: 'any' };
const onlyWith: Readonly<Record<string, 'allow' | 'deny'>> = { reason: 'deny', check: 'deny', refused: 'deny', capability: 'allow', rule: 'allow', sent: 'allow', transforms_failed: 'allow', counters: 'allow' };

/** `{decision: deny, reason?, check?, refused?}` or `{decision: allow, capability?, rule?, sent?, transforms_failed?, counters?}`. */
export function readExpectation(node: DocumentNode, reporter: Reporter): Expectation | undefined {
  const fields = openFields(node, 'expect', shape, reporter);
  if (fields === undefined || !fields.needs('decision')) return undefined;
  const written = fields.string('decision');
  const decision = written === undefined ? undefined : enumOf(written, 'decision', ['allow', 'deny'], reporter);
  if (decision === undefined) return undefined;
  for (const [name, needed] of Object.entries(onlyWith)) {
    if (fields.has(name) && decision !== needed) reporter.problem('unknown_field', fields.placeOf(name), `${name} is for requests that are ${needed === 'allow' ? 'allowed' : 'denied'}`);
  }
  return decision === 'allow' ? allowOf(fields, reporter) : denyOf(fields, reporter);
}

function denyOf(fields: Fields, reporter: Reporter): Expectation {
  const reason = fields.string('reason');
  const check = fields.string('check');
  return {
    decision: 'deny',
    reason: reason === undefined ? undefined : enumOf(reason, 'reason', denyReasons, reporter),
    check: check === undefined ? undefined : enumOf(check, 'check', ruleChecks, reporter),
    refused: fields.string('refused')?.value,
  };
}

function allowOf(fields: Fields, reporter: Reporter): Expectation {
  const failed = fields.map('transforms_failed');
  return {
    decision: 'allow',
    capability: fields.string('capability')?.value,
    rule: fields.string('rule')?.value,
    sent: sentOf(fields.map('sent'), reporter),
    transformsFailed: failed === undefined ? undefined : failuresOf(failed, reporter),
    counters: amountsOf(fields.map('counters'), reporter),
  };
}

function sentOf(node: MapNode | undefined, reporter: Reporter): SentExpectation {
  const fields = optionalFields(node, 'sent', sentShape, reporter);
  const json = fields?.any('json');
  const text = fields?.string('body')?.value;
  if (json !== undefined && fields?.has('body') === true) reporter.problem('unknown_field', fields.placeOf('body'), 'what is sent has a body or json, not both');
  const headers = new Map<string, readonly string[]>();
  for (const { name, key, values } of headerEntries(fields?.map('headers'), 'absent', reporter)) {
    if (headers.has(name.toLowerCase())) reporter.problem('duplicate_key', key, `header ${shown(name)} is there twice; give a list of values`);
    headers.set(name.toLowerCase(), values);
  }
  return {
    path: fields?.string('path')?.value,
    query: fields?.string('query')?.value,
    headers,
    body: json !== undefined ? { json: parseJson(jsonTextOf(json)) } : text === undefined ? undefined : { text },
  };
}

function failuresOf(node: MapNode, reporter: Reporter): ReadonlyMap<string, TransformFailure> {
  return new Map(node.entries.flatMap(({ key, value }): [string, TransformFailure][] => {
    if (!isText(value)) {
      reporter.problem('wrong_type', value, `why a transform fails must be a string, not ${described(value)}`);
      return [];
    }
    const failure = enumOf(value, 'why a transform fails', transformFailures, reporter);
    return failure === undefined ? [] : [[key, failure]];
  }));
}

function amountsOf(node: MapNode | undefined, reporter: Reporter): ReadonlyMap<string, bigint> {
  return new Map((node?.entries ?? []).flatMap(({ key, value }): [string, bigint][] => {
    if (value.kind === 'scalar' && value.integer !== undefined && value.integer >= 0n) return [[key, value.integer]];
    reporter.problem('wrong_type', value, `what a counter is charged must be an integer of at least 0, not ${described(value)}`);
    return [];
  }));
}
