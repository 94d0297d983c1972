-- The part of the audit pipeline that lives in Postgres (design 5). Apart from the outbox these tables hold batches of many orgs and
-- are read by workers and by the hub only, always with an explicit org where one is asked for.

-- Gapless counters of the producers that live in this database: `outbox` and `replay`.
create table batch_counters (
  producer text primary key,
  last_batch_no bigint not null default 0,
  last_source_seq bigint not null default 0,
  -- Rows of all batches cut so far: the `accepted` side of the loss ledger.
  accepted_rows bigint not null default 0
);
insert into batch_counters (producer) values ('outbox'), ('replay');

-- One audit row of a mutation, written in the mutation's own transaction.
create table audit_outbox (
  id bigint generated always as identity primary key,
  org_id uuid not null,
  -- The stored line without source_seq and batch stamp, which come when the batch is cut.
  line text not null,
  event_timestamp timestamptz not null,
  created_at timestamptz not null default now()
);
alter table audit_outbox enable row level security;
alter table audit_outbox force row level security;
create policy tenant on audit_outbox using (org_visible(org_id));

create function notify_audit_outbox() returns trigger language plpgsql as $$
begin
  perform pg_notify('audit_outbox', '');
  return null;
end
$$;
-- One notice for a statement; Postgres folds equal notices of a transaction into one and sends it at commit.
create trigger notify_audit_outbox after insert on audit_outbox for each statement execute function notify_audit_outbox();

-- Batches cut from the outbox, with their final bytes, until audit_batches has them.
create table outbox_batches (
  batch_id uuid primary key,
  producer text not null references batch_counters (producer),
  batch_no bigint not null,
  rows integer not null check (rows > 0),
  bytes integer not null,
  min_timestamp timestamptz not null,
  max_timestamp timestamptz not null,
  payload bytea not null,
  created_at timestamptz not null default now(),
  unique (producer, batch_no)
);
-- zstd frames do not compress again.
alter table outbox_batches alter column payload set storage external;
create index outbox_batches_order on outbox_batches (created_at, producer, batch_no);

-- The ledger of committed batches. commit_seq is the order of delivery on the streams.
create table audit_batches (
  commit_seq bigint generated always as identity primary key,
  batch_id uuid not null unique,
  producer text not null,
  -- Not unique together with the producer: a producer that lost its disk counts from 1 again, and its rows must still be stored.
  -- `audit verify` reports the number that came twice.
  batch_no bigint not null,
  -- Rows of the batch at its source; those in dead_letters are among them.
  rows integer not null,
  min_timestamp timestamptz not null,
  max_timestamp timestamptz not null,
  -- Orgs with stored rows, and how many rows each has.
  org_ids text[] not null,
  org_rows integer[] not null,
  published boolean not null default false,
  committed_at timestamptz not null default clock_timestamp(),
  check (cardinality(org_ids) = cardinality(org_rows))
);
create index audit_batches_producer on audit_batches (producer, batch_no);
create index audit_batches_unpublished on audit_batches (commit_seq) where not published;

-- Ranges of lines that ClickHouse refused as a whole. A range in here is never inserted as a whole again: its halves may be stored
-- already under tokens of their own, so a later success of the whole would double them.
create table refused_ranges (
  batch_id uuid not null,
  first_line integer not null,
  last_line integer not null,
  refused_at timestamptz not null default now(),
  primary key (batch_id, first_line, last_line)
);

create table dead_letters (
  id bigint generated always as identity primary key,
  batch_id uuid not null,
  producer text not null,
  batch_no bigint not null,
  -- From 0, within the batch.
  line_no integer not null,
  -- NULL when the line does not say.
  org_id uuid,
  -- Bytes, not text: what was refused need not be UTF-8.
  line bytea not null,
  error_code text not null,
  error text not null,
  created_at timestamptz not null default now(),
  replayed_at timestamptz,
  replay_batch_id uuid,
  unique (batch_id, line_no),
  check ((replayed_at is null) = (replay_batch_id is null))
);
create index dead_letters_waiting on dead_letters (id) where replayed_at is null;
