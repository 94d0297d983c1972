import t from 'tap';
import { columns, dimensionColumns, filterableColumns } from '../../src/events/columns.ts';

/** Contract 2.1, in its order. */
const contractColumns = 'id org_id user_id timestamp source_seq event_type category actor workspace_id task_id agent_role agent_provider destination method path decision reason latency_ms transforms_applied validations_applied policy_type phase capability_name detail debits budget_state floored transforms_failed auth_used auth_failures';

/** Contract 4.1. */
const contractFilters = 'workspace_id task_id decision destination capability_name event_type category agent_role agent_provider method path actor counter phase policy_type';

t.test('the columns of the contract, in its order', async (t) => {
  t.equal(columns.map((column) => column.name).join(' '), contractColumns);
});

t.test('the kind of every column follows its type in the contract', async (t) => {
  const kinds = Object.fromEntries(columns.map(({ name, kind }) => [name, kind]));
  const others = {
    id: 'uuid', timestamp: 'time', source_seq: 'seq', latency_ms: 'count', transforms_applied: 'count', validations_applied: 'count', detail: 'json',
    debits: 'integers', budget_state: 'values', floored: 'texts', transforms_failed: 'texts', auth_failures: 'texts', auth_used: 'list',
  };
  t.same(kinds, Object.fromEntries(contractColumns.split(' ').map((name) => [name, (others as Record<string, string>)[name] ?? 'text'])));
});

t.test('filterable columns are those of the contract', async (t) => {
  t.same([...filterableColumns].sort(), contractFilters.split(' ').sort());
});

t.test('stats dimensions are the filterable columns, user_id and reason', async (t) => {
  t.same([...dimensionColumns].sort(), [...contractFilters.split(' '), 'user_id', 'reason'].sort());
});
