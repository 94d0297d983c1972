import { openFields } from '../../../policy/check/fields.ts';
import type { Fields, Shape } from '../../../policy/check/fields.ts';
import type { DocumentNode } from '../../../policy/document/node.ts';
import type { Reporter } from '../../../policy/problem.ts';
import type { HeaderField } from '../../../transforms/contract.ts';
import type { DescribedRequest } from '../explain/described-request.ts';
import { headerComplaint, methodComplaint, someWorkspace, urlComplaint } from '../explain/described-request.ts';
import { headerEntries, jsonTextOf, optionalFields } from './case-fields.ts';

const shape: Shape = { method: 'string', url: 'string', headers: 'map', body: 'string', json: 'any', workspace: 'map', task: 'string' };
const workspaceShape: Shape = { id: 'string', org_id: 'string', role: 'string', environment: 'string' };

/** `{method, url, headers?, body? | json?, workspace?, task?}`. Undefined, with problems, where it describes no request. */
export function readRequest(node: DocumentNode, reporter: Reporter): DescribedRequest | undefined {
  const fields = openFields(node, 'a request', shape, reporter);
  if (fields === undefined || !fields.needs('method', 'url')) return undefined;
  const method = fields.string('method');
  const url = fields.string('url');
  const wrongMethod = method === undefined ? undefined : methodComplaint(method.value);
  if (method !== undefined && wrongMethod !== undefined) reporter.problem('invalid_enum', method, wrongMethod);
  const wrongUrl = url === undefined ? undefined : urlComplaint(url.value);
  if (url !== undefined && wrongUrl !== undefined) reporter.problem('domain_syntax', url, `the url ${wrongUrl}`);
  const headers = readHeaders(fields, reporter);
  const body = readBody(fields, reporter);
  const workspace = optionalFields(fields.map('workspace'), 'a workspace', workspaceShape, reporter);
  if (method === undefined || url === undefined || wrongMethod !== undefined || wrongUrl !== undefined) return undefined;
  return {
    method: method.value,
    url: url.value,
    headers,
    body: Buffer.from(body),
    workspace: {
      id: workspace?.string('id')?.value ?? someWorkspace.id,
      orgId: workspace?.string('org_id')?.value ?? someWorkspace.orgId,
      role: workspace?.string('role')?.value ?? someWorkspace.role,
      environment: workspace?.string('environment')?.value ?? someWorkspace.environment,
    },
    taskId: fields.string('task')?.value ?? '',
  };
}

function readHeaders(fields: Fields, reporter: Reporter): readonly HeaderField[] {
  return headerEntries(fields.map('headers'), 'present', reporter).flatMap(({ name, key, values }) => values.map((value): HeaderField => {
    const complaint = headerComplaint([name, value]);
    if (complaint !== undefined) reporter.problem('header_name_invalid', key, complaint);
    return [name, value];
  }));
}

/** A body as it is, or a value that is sent as JSON. `json` sets no content-type: a policy may depend on it. */
function readBody(fields: Fields, reporter: Reporter): string {
  const json = fields.any('json');
  if (json === undefined) return fields.string('body')?.value ?? '';
  if (fields.has('body')) reporter.problem('unknown_field', fields.placeOf('body'), 'a request has a body or json, not both');
  return jsonTextOf(json);
}
