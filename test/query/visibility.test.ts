import t from 'tap';
import type { AuditEvent } from '../../src/events/event.ts';
import { compileMatcher } from '../../src/query/match.ts';
import type { Visibility } from '../../src/query/visibility.ts';
import { eventVisibility, needsOwnWorkspaces, readScopes, workspaceActivityVisibility, workspaceAuditVisibility, workspaceEventVisibility } from '../../src/query/visibility.ts';

const caller = (...scopes: string[]) => ({ userId: 'me', scopes: new Set(scopes) });
const row = (name: string, columns: Partial<AuditEvent>) => ({ name, event: { id: '', org_id: '', timestamp: '', source_seq: 0, event_type: 'x', actor: 'agent', user_id: 'other', category: 'audit', ...columns } satisfies AuditEvent });

const rows = [
  row('my audit', { user_id: 'me', category: 'audit' }),
  row('my activity', { user_id: 'me', category: 'activity', workspace_id: 'mine' }),
  row('audit in mine', { category: 'audit', workspace_id: 'mine' }),
  row('activity in mine', { category: 'activity', workspace_id: 'mine' }),
  row('audit in theirs', { category: 'audit', workspace_id: 'theirs' }),
  row('activity in theirs', { category: 'activity', workspace_id: 'theirs' }),
  row('org audit', { category: 'audit' }),
];
const all = rows.map(({ name }) => name);
const seen = (visibility: Visibility): string[] => rows.filter(({ event }) => compileMatcher(visibility.predicate)(event)).map(({ name }) => name);

t.test('org-wide events: the union of the scopes held (4.1)', (t) => {
  const of = (...scopes: string[]) => seen(eventVisibility(caller(...scopes), ['mine']));
  t.same(of('audit:read'), all);
  t.same(of('audit:read:own'), ['my audit', 'my activity']);
  t.same(of('workspace:read'), ['my activity', 'activity in mine', 'activity in theirs']);
  t.same(of('workspace:read:own'), ['my activity', 'activity in mine']);
  t.same(of('audit:read:own', 'workspace:read:own'), ['my audit', 'my activity', 'activity in mine']);
  t.same(of('audit:read:own', 'workspace:read'), ['my audit', 'my activity', 'activity in mine', 'activity in theirs']);
  t.same(of('audit:read', 'workspace:read:own'), all);
  t.same(seen(eventVisibility(caller('workspace:read:own'), [])), [], 'no workspace created, nothing seen');
  t.end();
});

t.test('one workspace, audit (4.2): audit scopes its audit rows, workspace scopes its activity rows', (t) => {
  const mine = (...scopes: string[]) => seen(workspaceAuditVisibility(caller(...scopes), { id: 'mine', createdBy: 'me' }));
  const theirs = (...scopes: string[]) => seen(workspaceAuditVisibility(caller(...scopes), { id: 'theirs', createdBy: 'other' }));
  t.same(mine('audit:read'), ['audit in mine']);
  t.same(theirs('audit:read'), ['audit in theirs'], 'no ownership needed');
  t.same(mine('audit:read:own'), ['audit in mine']);
  t.same(theirs('audit:read:own'), []);
  t.same(theirs('workspace:read'), ['activity in theirs']);
  t.same(mine('workspace:read:own'), ['my activity', 'activity in mine']);
  t.same(theirs('workspace:read:own'), []);
  t.same(mine('audit:read:own', 'workspace:read:own'), ['my activity', 'audit in mine', 'activity in mine']);
  t.same(theirs('audit:read:own', 'workspace:read'), ['activity in theirs']);
  t.end();
});

t.test('one workspace, activity (4.3): workspace scopes only, with the creator match', (t) => {
  t.same(seen(workspaceActivityVisibility(caller('workspace:read'), { id: 'theirs', createdBy: 'other' })), ['activity in theirs']);
  t.same(seen(workspaceActivityVisibility(caller('workspace:read:own'), { id: 'mine', createdBy: 'me' })), ['my activity', 'activity in mine']);
  t.throws(() => workspaceActivityVisibility(caller('workspace:read:own'), { id: 'theirs', createdBy: 'other' }), { code: 'permission_denied' });
  t.throws(() => workspaceActivityVisibility(caller('audit:read', 'audit:read:own'), { id: 'mine', createdBy: 'me' }), { code: 'permission_denied' });
  t.end();
});

t.test('one workspace, stats (4.4): the rows of /audit with a workspace filter', (t) => {
  const of = (...scopes: string[]) => seen(workspaceEventVisibility(caller(...scopes), ['mine'], 'mine'));
  t.same(of('audit:read'), ['my activity', 'audit in mine', 'activity in mine']);
  t.same(of('audit:read:own'), ['my activity']);
  t.same(of('workspace:read:own'), ['my activity', 'activity in mine']);
  t.end();
});

t.test('a caller with none of the scopes is refused everywhere', (t) => {
  for (const scopes of [[], ['members:read', 'auth:write', 'audit:write', 'audit:read:', 'AUDIT:READ']]) {
    t.throws(() => eventVisibility(caller(...scopes), ['mine']), { code: 'permission_denied' });
    t.throws(() => workspaceEventVisibility(caller(...scopes), ['mine'], 'mine'), { code: 'permission_denied' });
    t.throws(() => workspaceAuditVisibility(caller(...scopes), { id: 'mine', createdBy: 'me' }), { code: 'permission_denied' });
    t.throws(() => workspaceActivityVisibility(caller(...scopes), { id: 'mine', createdBy: 'me' }), { code: 'permission_denied' });
  }
  t.end();
});

t.test('own workspaces are needed exactly when they change what is seen', (t) => {
  for (let mask = 1; mask < 16; mask += 1) {
    const scopes = readScopes.filter((_, index) => (mask >> index) % 2 === 1);
    const matters = JSON.stringify(eventVisibility(caller(...scopes), ['mine']).predicate) !== JSON.stringify(eventVisibility(caller(...scopes), []).predicate);
    t.equal(needsOwnWorkspaces(caller(...scopes)), matters, scopes.join(' '));
  }
  t.end();
});

t.test('the key tells callers and places apart, and outlives a new workspace', (t) => {
  const scopes = ['audit:read:own', 'workspace:read:own'];
  t.equal(eventVisibility(caller(...scopes), ['mine']).key, eventVisibility(caller(...scopes), ['mine', 'new']).key);
  t.equal(eventVisibility(caller(...scopes, 'members:read'), []).key, eventVisibility(caller(...scopes), []).key, 'scopes that show nothing do not count');
  const workspace = { id: 'mine', createdBy: 'me' };
  const keys = [
    eventVisibility(caller(...scopes), []), eventVisibility(caller('audit:read'), []), eventVisibility({ ...caller(...scopes), userId: 'you' }, []), workspaceEventVisibility(caller(...scopes), [], 'mine'),
    workspaceAuditVisibility(caller(...scopes), workspace), workspaceAuditVisibility(caller(...scopes), { ...workspace, id: 'other' }), workspaceActivityVisibility(caller(...scopes), workspace),
  ].map(({ key }) => key);
  t.equal(new Set(keys).size, keys.length);
  t.end();
});
