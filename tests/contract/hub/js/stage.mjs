// What a scenario is given: a hub of its own, a producer, and readers on demand.
//
// The SDK retries nothing here, so the first error that the hub gives is the one that a scenario
// sees. A reader has a client of its own, as the quota and the owner levels are about clients.

import {
  BlobCheckpointStore,
  ContainerClient,
  EventHubConsumerClient,
  EventHubProducerClient,
  earliestEventPosition,
} from "./packages.mjs";

const POLL_MS = 10;
export const PATIENCE_SECONDS = 20;
const NO_RETRIES = { maxRetries: 0, timeoutInMs: 30000 };

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Whether the predicate becomes true within this time.
export async function comesTrue(predicate, seconds) {
  const deadline = performance.now() + seconds * 1000;
  while (!predicate()) {
    if (performance.now() >= deadline) return false;
    await pause(POLL_MS);
  }
  return true;
}

// Waits for a condition; says what was waited for, and what there was instead, when it fails.
export async function waitUntil(predicate, seconds, what, detail = () => "nothing to tell") {
  if (!(await comesTrue(predicate, seconds))) {
    throw new Error(`waited ${seconds} s for ${what}, and it did not come: ${detail()}`);
  }
}

export const texts = (count, word = "event") =>
  Array.from({ length: count }, (_, number) => ({ body: `${word}-${number}` }));

export const numbers = (from, to) => Array.from({ length: to - from }, (_, at) => from + at);

// Reads in the background from its making to its close, and keeps all that it is told, in order.
export class Reader {
  events = [];
  errors = [];
  owned = new Set();
  checkpoints = {};
  metrics = {};

  constructor(stage, reading) {
    const { partition = "0", start = earliestEventPosition, group = "$Default" } = reading;
    const { ownerLevel, metrics = false, store, checkpointWhen = () => false } = reading;
    const clientOptions = { retryOptions: NO_RETRIES, ...stage.options };
    const rest = store ? [new BlobCheckpointStore(containerOf(store))] : [];
    if (store) {
      clientOptions.loadBalancingOptions = {
        strategy: "greedy",
        updateIntervalInMs: 500,
        partitionOwnershipExpirationIntervalInMs: 4000,
      };
    }
    this.client = new EventHubConsumerClient(
      group, stage.connectionString, stage.hub, ...rest, clientOptions,
    );
    const handlers = {
      processInitialize: async (context) => void this.owned.add(context.partitionId),
      processClose: async (reason, context) => void this.owned.delete(context.partitionId),
      processError: async (error) => void this.errors.push(error),
      processEvents: async (events, context) => {
        if (metrics && events.length) {
          this.metrics[context.partitionId] = { ...context.lastEnqueuedEventProperties };
        }
        for (const event of events) this.events.push({ partition: context.partitionId, event });
        const last = events.findLast(checkpointWhen);
        if (last) {
          await context.updateCheckpoint(last);
          this.checkpoints[context.partitionId] = last.sequenceNumber;
        }
      },
    };
    const options = {
      startPosition: start,
      maxBatchSize: 300,
      maxWaitTimeInSeconds: 60,
      trackLastEnqueuedEventProperties: metrics,
      ownerLevel,
    };
    this.subscription = partition === null
      ? this.client.subscribe(handlers, options)
      : this.client.subscribe(partition, handlers, options);
  }

  // Awaits that many events; an error that comes instead is thrown at once.
  async take(count, seconds = PATIENCE_SECONDS) {
    await waitUntil(
      () => this.errors.length || this.events.length >= count,
      seconds, `${count} events`, () => `${this.events.length} events`,
    );
    if (this.errors.length) throw this.errors[0];
    return [...this.events];
  }

  async error(seconds = PATIENCE_SECONDS) {
    await waitUntil(
      () => this.errors.length,
      seconds, "an error for the reader", () => `${this.events.length} events and no error`,
    );
    return this.errors[0];
  }

  bodies() {
    return this.events.map(({ event }) => event.body);
  }

  // Sequence numbers by partition, of the events from the given place in the list on.
  sequences(since = 0) {
    const found = {};
    for (const { partition, event } of this.events.slice(since)) {
      (found[partition] ??= []).push(event.sequenceNumber);
    }
    return found;
  }

  async close() {
    await this.client.close();
  }
}

export function containerOf({ connectionString, container }) {
  return new ContainerClient(connectionString, container);
}

export class Stage {
  #closing = [];

  constructor(facts, changes = {}) {
    Object.assign(this, facts, changes);
    this.options = changes.options ?? {};
    this.producer = new EventHubProducerClient(this.connectionString, this.hub, {
      retryOptions: NO_RETRIES,
      ...this.options,
    });
  }

  send(events, to) {
    return this.producer.sendBatch(events, to);
  }

  // Runs the work with a reader and closes the reader, come what may.
  async reading(reading, work) {
    const reader = new Reader(this, reading);
    try {
      return await work(reader);
    } finally {
      await reader.close();
    }
  }

  // A stage like this one with other facts; it is closed with this one.
  on(changes) {
    const { connectionString, hub, store, keyPartitions } = this;
    const other = new Stage({ connectionString, hub, store, keyPartitions }, changes);
    this.#closing.push(other);
    return other;
  }

  async close() {
    for (const other of this.#closing) await other.close();
    await this.producer.close();
  }
}
